"""One report in one of three formats, all with the same content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError
from republish.policy import report_fields
from republish.report.content import content_of
from republish.report.facts import SeriesFacts, facts_of
from republish.show.numbers import FILTERS, MARKS, escaped

if TYPE_CHECKING:
    from republish.series import Series

FORMATS = ("html", "json", "md")
_OBJECTS = ("facts", "words", "serial", "tables")


def make_report(
    series: Series,
    format: str = "html",  # noqa: A002 - what people call it
    said: Mapping[str, str] | None = None,
) -> str:
    """The disclosure report of a series: `html` is one self-contained page, `json` and `md` say the same.

    Attacks are not made here. What `republish.attacks.assessments` keeps beside the series is shown as far as
    it still holds. `said` is title, purpose and so on for this report, beside or instead of what series.toml says.

    Raises:
        PolicyError: there is no such format, or what it needs is not installed.
    """
    if format not in FORMATS:
        raise PolicyError(f"a report is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; found {format}")
    facts = facts_of(series)
    facts = replace(facts, signing=facts.signing | report_fields(said or {}, "a report"))
    content = content_of(facts, datetime.now(UTC).isoformat(timespec="seconds"))
    if format == "json":
        return json.dumps(_document(facts, content), indent=2, ensure_ascii=False)
    content["described"] = [
        (name, meaning)
        for name, meaning in content["words"].ATTACKS.items()
        if any(name in one["after_release"] for one in content["serial"])
    ]
    if format == "html":
        _templates()  # what is missing is said before pictures are drawn
        content["pictures"] = _pictures(facts, content)
    text: str = _templates(format).get_template(f"report.{format}.j2").render(content, marks=MARKS)
    return text


def _document(facts: SeriesFacts, content: dict[str, Any]) -> dict[str, Any]:
    """The content as JSON can hold it: facts, and what was made of them."""
    made = {key: value for key, value in content.items() if key not in _OBJECTS}
    made["serial"] = [
        {key: value for key, value in one.items() if key not in ("rows", "assessment")}
        for one in content["serial"]
    ]
    said = {
        key: value for key, value in facts.as_dict().items() if key not in ("name", "columns", "assessments")
    }
    made["parameters"] = [
        {"name": name, "value": value, "meaning": meaning} for name, value, meaning in made["parameters"]
    ]
    return {"report": "disclosure", **made, **{key: value for key, value in said.items() if key not in made}}


def _pictures(facts: SeriesFacts, content: dict[str, Any]) -> dict[str, Any]:
    if not facts.releases:
        return {}
    from republish.report import pictures

    made: dict[str, Any] = {
        "rows": pictures.rows_picture(facts.releases, content["tables"]["rows"]),
        "usefulness": pictures.usefulness_picture(facts.releases),
        "risk": pictures.risk_picture(facts.releases),
        "serial": [
            pictures.serial_picture(one["assessment"], number)
            for number, one in enumerate(content["serial"], start=1)
        ],
    }
    made["confidence"] = [
        one["confidence"] and pictures.confidence_picture(one["confidence"], number)
        for number, one in enumerate(content["serial"], start=1)
    ]
    if content["identities"]:
        made["identities"] = pictures.identities_picture(content["identities"])
    if content["gate"]:
        made["gate"] = pictures.gate_picture(content["gate"])
    return made


def _templates(format: str = "html") -> Any:  # noqa: A002
    """The templates; what is put into them is escaped, for HTML or for Markdown."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise PolicyError(
            "a report needs jinja2; install it with `pip install 'republish[report]'`, or take --format json"
        ) from None
    environment = Environment(
        loader=PackageLoader("republish.report"),
        autoescape=lambda name: name is not None and ".html" in name,
        finalize=escaped if format == "md" else None,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment
