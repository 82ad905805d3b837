"""What a release says of itself in the comments of its table: the words of `about.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = "republish release"
"""How the comment of every table that holds a release begins."""


def table_comment(about: Mapping[str, Any]) -> str:
    """Number, date, publisher and promises of a release, in words."""
    publisher = about["publisher"]
    parameters = ", ".join(f"{name}={value}" for name, value in publisher["parameters"].items())
    sentences = [
        f"{MARK} {about['release']}, as of {about['as_of']}",
        f"{about['rows']} rows in {about['groups']} groups, {about['suppressed_rows']} left out, "
        f"{about['counterfeit_rows']} counterfeit",
        f"Publisher: {publisher['name']}" + (f" ({parameters})" if parameters else ""),
        *_of_form(about),
        f"Promised over the series: {'; '.join(about['promised_over_the_series']) or 'nothing'}",
        *(f"Not promised: {sentence}" for sentence in about["not_promised_over_the_series"]),
        f"Made by {about['tool']}",
    ]
    return " ".join(sentence.rstrip(".") + "." for sentence in sentences)


def _of_form(about: Mapping[str, Any]) -> list[str]:
    """What groups satisfy; in two tables cells of people, and batches of values."""
    satisfied = "; ".join(about["every_group_satisfies"])
    if "form" not in about:
        return [f"Every group satisfies: {satisfied}"]
    of_people = "; ".join(about["every_cell_of_people_satisfies"])
    return [
        f"In two tables, people and values by batch, {about['form']['batches']} batches",
        about["form"]["how_to_read"],
        f"Every group of people satisfies: {of_people}",
        f"Every batch satisfies: {satisfied}",
    ]


def column_comments(about: Mapping[str, Any]) -> dict[str, str]:
    """A comment for every column that the table of a release may have."""
    comments = {
        "group": "Number of the row's group; a number means nothing in another release.",
        "level": "Level of the group: its rows lie in its cells and in those of no group of a higher level in them.",
    }
    if "form" in about:
        comments["batch"] = (
            "Number of a batch, null where a person's value is not counted; see the other table."
        )
        comments["count"] = "How often the value occurs in the batch, counterfeits included."
    opened = ", null where its cell is open" if "form" in about else ""
    for column in about["columns"]:
        name, role, kind = column["name"], column["role"], column.get("kind")
        what = f"{name} ({role}{f', {kind}' if kind else ''})"
        if role != "quasi-identifier":
            counted = role == "sensitive" and "form" in about
            comments[name] = f"{what}: {'a value of the batch' if counted else 'the value of the row'}."
            continue
        comments[name] = f"{what}: what is said of the row's group, one value or all values it may have."
        comments[f"{name}_lo"] = f"{what}: lowest value of the row's group{opened}."
        comments[f"{name}_hi"] = f"{what}: highest value of the row's group{opened}."
        comments[f"{name}_missing"] = (
            f"{what}: true where the whole group has no value, null where a part has none."
        )
    return comments
