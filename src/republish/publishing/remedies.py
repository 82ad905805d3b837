"""What would pass where a view is refused, found by trying it: the same view without those who are new in it.

Who is new is told by who was there before and by no value, so that who waits tells nothing of values. That newcomers
were held is told to recipients; it may say that the release with them was refused, one bit of all values together.
People are never left out for what was found of them: that would tell whom the attack had found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from republish.arrays import BoolArray
from republish.errors import CannotPublish, RepublishError
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishing.result import Published, ReleaseOptions


def newcomers_to_hold(view: Microdata, memory: Memory) -> BoolArray:
    """The rows of people who were in no release before.

    Raises:
        CannotPublish: everybody is new, so that nobody would be left.
    """
    assert view.people is not None
    new: BoolArray = memory.find(view.people) < 0
    if new.all():
        raise CannotPublish(
            "newcomers can be held only where others stay, and nobody in the view was in a release before; publish it "
            "without --hold-newcomers"
        )
    return new


def offered(options: ReleaseOptions, releases: int, released: Callable[[ReleaseOptions], Published]) -> str:
    """A sentence on what would pass, after it was tried; nothing where it would be refused too."""
    if not releases or options.hold_newcomers:
        return ""
    try:
        done = released(replace(options, dry_run=True, hold_newcomers=True))
    except RepublishError:
        return ""
    if not done.waiting or (done.gate is not None and not done.gate.passed):
        return ""
    return (
        f"Tried: without the {done.waiting:,} people who are new in it the view would pass; `republish publish "
        "--hold-newcomers` publishes it so, and they wait for a later release"
    )
