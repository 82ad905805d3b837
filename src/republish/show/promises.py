"""Words on what is promised of groups and cells, for terminal, notebook, report and desk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def promised_of_groups(promises: Mapping[str, Any]) -> str:
    """What every group satisfies, in two tables those of people and the batches."""
    if "people" not in promises:
        return f"every group satisfies {promises['one_table']}"
    return (
        f"every group of people satisfies {promises['people']}, every batch of values {promises['one_table']}"
    )


def bounds_in(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What recorded checks say of how many people could be determined at most, on average and the worst placed."""
    return [check["meaning"] for check in checks if "ways out" in check["promise"]]


def spread_words(spread: float, limit: float) -> str:
    """How far beliefs about everyone in a view are apart, and what that foretells."""
    stalls = "it would stall here" if spread > 1.05 * limit else "it would not stall here"
    return (
        f"beliefs about everyone in the view diverge by I = {spread:.2f} bits; where that is about j = {limit:g} or "
        "less the walk of the papers (cut=greedy) closes its groups, where it is more it stalls and leaves out the "
        f"rest: {stalls}"
    )


def spreads_in(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What recorded checks of beliefs say of everyone in the view together."""
    found = [(check["of_view"], check["promise"]) for check in checks if check.get("of_view") is not None]
    return [
        spread_words(spread, float(promise.partition("=")[2].partition(":")[0])) for spread, promise in found
    ]


def extended_words(people: int) -> str:
    """What is said of people whose cells extend over a cut that died."""
    who = (
        "1 person is in a cell that extends" if people == 1 else f"{people:,} people are in cells that extend"
    )
    return f"{who} over a cut that died; such cells may cross those of other releases"


def words_on_correction(corrects: Mapping[str, Any], keeps_counts: bool = False) -> list[str]:
    """What is said of a release that takes the place of another, and of what whoever has both finds out."""
    said = [
        f"corrects release {corrects['release']}, which is withdrawn and still counted: others may have it"
    ]
    if keeps_counts:
        said.append("a batch shows what was corrected when it is next counted (batches.csv), and not before")
    for name, found in corrects["attacks"].items():
        before, after = found["before"], found["after"]
        said.append(
            f"an adversary who has both determines by {name} {after['determined']:,} of {after['people']:,} people, "
            f"mean confidence {after['mean_confidence']:.4f}; before this release {before['determined']:,} of "
            f"{before['people']:,}, {before['mean_confidence']:.4f}"
        )
    if not corrects["attacks"]:
        said.append(
            "what an adversary who has both finds out is not measured in parts; `republish attack` does"
        )
    return said


ONE_VALUE = (
    "everybody in this release has the same sensitive value, so an adversary who knows that a person is in it knows "
    "the value; no grouping hides that, and a requirement such as l=2 would have kept it back"
)


_STALE = 0.1  # of the people held or waiting is worth a warning
_WHY_STALE = (
    "counts are stale. A batch is not counted anew while too few episodes end or begin, where a value would be too "
    "frequent in it, where the bound forbids it, or by chance. If values have changed for good, as in an epidemic, "
    "begin a series with a smaller m or larger batches"
)


def words_on_release(document: Mapping[str, Any], keeps_counts: bool) -> list[str]:
    """What is said of a release beside its numbers, from its document; earlier ones may lack some of it."""
    two = document.get("two_tables")
    found = words_on_groups(document["measures"], bool(two), keeps_counts)
    stale = _words_on_stale(document, two) if two and two.get("stale") else []
    return [
        *found,
        *stale,
        *words_on_retired(document),
        *words_on_spelling(document.get("alike") or {}),
        *words_on_expected(document),
    ]


def words_on_retired(document: Mapping[str, Any]) -> list[str]:
    """How many people are left out for they were published as often as they may be."""
    checks = document.get("verification", {}).get("checks", ())
    return [
        check["meaning"]
        for check in checks
        if check["promise"].startswith("lifespan=") and "left out" in check["meaning"]
    ]


def words_on_expected(document: Mapping[str, Any]) -> list[str]:
    """How its view differs from the last by more than was expected, and why it was published all the same."""
    said = [f"warning: {one['says']}" for one in document.get("findings") or ()]
    reason = document.get("expect_anyway")
    return said if reason is None else [*said, f"was published although it was not expected: {reason}"]


def words_on_spelling(alike: Mapping[str, int]) -> list[str]:
    """That values of columns are others but for case and blanks, and count as values of their own."""
    return [
        f"warning: column {name}: {times:,} values are others but for case or blanks around them, and count as values "
        "of their own; spell them alike in the view, or a person hides among fewer values than it seems"
        for name, times in alike.items()
    ]


def _words_on_stale(document: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """How many batches are not as of this release, and that it is much."""
    waiting = document["suppressed"] - two["without_batch"]
    share = (document["counterfeits"] + waiting) / max(document["rows"], 1)
    found = [
        f"{two['stale']:,} of {two['batches']:,} batches are not as of this release: {document['counterfeits']:,} "
        f"people are counted as they were before they left or changed, {waiting:,} wait to be counted"
    ]
    return [*found, f"warning: {_WHY_STALE}"] if share > _STALE else found


def words_on_groups(measures: Mapping[str, Any], two_tables: bool, keeps_counts: bool = False) -> list[str]:
    """What is said of the groups of a release, or its batches: the fewest real people, and that all values are one.

    `measures` is the document of a release; those of earlier ones may lack some.
    """
    found, fewest, levels = [], measures.get("fewest_people"), measures["levels"]
    if fewest is not None and measures["counterfeits"]:
        people = "1 real person" if fewest == 1 else f"{fewest:,} real people"
        group = "batch" if two_tables else "group"
        beside = "those held" if keeps_counts else "counterfeits"
        found.append(f"the {group} with the fewest has {people} beside {beside}")
    if levels.get("distinct_l") == 1 and levels.get("t") == 0:
        found.append(f"warning: {ONE_VALUE}")
    return found
