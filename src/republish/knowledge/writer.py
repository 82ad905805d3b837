"""Knowledge as files: the tables and the TOML document that `read_knowledge` reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import tomli_w

from republish.errors import PolicyError
from republish.knowledge.words import said
from republish.sources.values import as_text

if TYPE_CHECKING:
    from republish.knowledge.extraction import Extracted
    from republish.knowledge.knowledge import Knowledge

FILE = "knowledge.toml"
PRIOR = "prior.csv"
SEQUENTIAL = "sequential.csv"


def last_columns(order: int) -> list[str]:
    """The columns that name a context, the oldest value first: last2, last1."""
    return [f"last{age}" for age in range(order, 0, -1)]


def write_files(knowledge: Knowledge, folder: Path) -> None:
    """Write the TOML document and the tables of some knowledge into a folder."""
    if not knowledge.values.name:
        raise PolicyError(
            "knowledge is written with the name of the sensitive column; give `values` that name: "
            "values.rename(NAME)"
        )
    texts, missing = _texts(knowledge.values)
    document: dict[str, Any] = {"sensitive": knowledge.values.name}
    document |= {"order": knowledge.order} if knowledge.order else {}
    document["prior"] = PRIOR
    document |= {"sequential": SEQUENTIAL} if knowledge.order else {}
    document |= {"missing": missing} if missing else {}
    document |= said(knowledge.unseen, knowledge.gaps)
    document["terminal"] = [texts[code] for code in knowledge.terminal]
    document["classes"] = knowledge.classes.document()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(tomli_w.dumps(document), encoding="utf-8", newline="\n")
    prior_table(knowledge, texts).write_csv(folder / PRIOR)
    if knowledge.order:
        sequential_table(knowledge, texts).write_csv(folder / SEQUENTIAL)


def write_extracted(source: Extracted, folder: Path, sensitive: str) -> None:
    """Write the TOML document of knowledge that is counted from views, and the tables of a part that is given."""
    given = source.prior or source.sequential
    if given is not None:
        write_files(replace(given, values=given.values.rename(sensitive)), folder)
    folder.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {"sensitive": sensitive, "prior": "views" if source.prior is None else PRIOR}
    if source.order:
        document |= {
            "order": source.order,
            "sequential": "views" if source.sequential is None else SEQUENTIAL,
        }
    if given is not None and given.values.null_count():
        document["missing"] = _texts(given.values)[1]
    document |= {"smoothing": source.smoothing} if source.smoothing else {}
    document |= said(source.unseen, source.gaps)
    document["terminal"] = as_text(pl.Series(source.terminal)).to_list() if source.terminal else []
    document["classes"] = source.classes.document()
    (folder / FILE).write_text(tomli_w.dumps(document), encoding="utf-8", newline="\n")
    for name, part in ((PRIOR, source.prior), (SEQUENTIAL, source.sequential)):
        if part is None:
            (folder / name).unlink(missing_ok=True)


def prior_table(knowledge: Knowledge, texts: pl.Series) -> pl.DataFrame:
    """One line for each class and value, so that the file names the values in their order."""
    count, m = knowledge.classes.count, knowledge.size
    return pl.DataFrame(
        {
            **knowledge.classes.label_columns(np.repeat(np.arange(count), m)),
            "value": texts.gather(np.tile(np.arange(m), count)),
            "p": knowledge.prior[:count].ravel(),
        }
    )


def sequential_table(knowledge: Knowledge, texts: pl.Series) -> pl.DataFrame:
    """One line for each class, context and next value of positive chance; contexts of new people first."""
    assert knowledge.sequential is not None
    count, m, older = knowledge.classes.count, knowledge.size, knowledge.order - 1
    table = knowledge.sequential[:count].reshape(count, *[m + 1] * older, m, m)
    table = np.roll(table, 1, axis=tuple(range(1, older + 1)))  # "no value" comes first
    group, *context, last, following = np.nonzero(table)
    spelled = pl.concat([pl.Series([None], dtype=pl.String), texts])
    names = last_columns(knowledge.order)
    return pl.DataFrame(
        {
            **knowledge.classes.label_columns(group),
            **{name: spelled.gather(code) for name, code in zip(names, context, strict=False)},
            names[-1]: texts.gather(last),
            "next": texts.gather(following),
            "p": table[np.nonzero(table)],
        }
    )


def _texts(values: pl.Series) -> tuple[pl.Series, str]:
    """The values as text, and the text that stands for the missing value where there is one."""
    texts = as_text(values)
    if not values.null_count():
        return texts, ""
    mark = "missing"
    while mark in texts:
        mark = f"({mark})"
    return texts.fill_null(mark), mark
