"""Messages of the tool in the words of the desk: what people at a browser can do, and no option of a command."""

from __future__ import annotations

import re
from collections.abc import Callable

from republish.show.numbers import written_moment


def plain(message: str) -> str:
    """A message of the tool in the words of the desk, where there are no options and no settings in files.

    What the desk has no words for, or cannot do, is said to be of the command line.
    """
    for pattern, words in {**_PLAIN, **_ELSEWHERE}.items():
        message = re.sub(pattern, words, message)
    return message


def _too_early(found: re.Match[str]) -> str:
    return (
        f"the date must be later than that of the last release, which is as of {written_moment(found[1])}. A day "
        "counts from its beginning, so the day of the last release is too early too; choose a later day, or leave the "
        "date empty once that moment is past: the release is then as of now"
    )


def _of_gate(found: re.Match[str]) -> str:
    name = {
        "compromised": "what the adversary knows already",
        "max_determined": "the share of people determined",
    }
    ranges = {
        "a share from 0 to below 1": "from 0 to below 100 percent",
        "a number from 0 to 1": "from 0 to 100 percent",
    }
    return f"{name.get(found[1], found[1])} must be {ranges.get(found[2], found[2])}; correct it under Gate"


_PLAIN: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"`republish publish --hold-newcomers` publishes it so, and they wait for": (
        "tick that newcomers wait, and they come with"
    ),
    r"newcomers can be held only where others stay, and (.+?); publish it without --hold-newcomers": (
        r"newcomers can wait only where others stay, and \1; leave out the tick"
    ),
    r"With a reason, `republish amend .+? --gate \"?(.+?)\"? --reason TEXT` would let it pass": (
        r"With a reason, the gate \1 would let it pass: set it on the page Change"
    ),
    r"nothing is published yet, so begin anew with `republish init .+?`": "nothing is published yet, so begin anew",
    r"with (\w+=\d+) the view would pass; `republish init .+?` makes one\. It does not count": (
        r"with \1 the view would pass. It does not count"
    ),
    r"mark the wrong one with `republish withdraw`": "withdraw the wrong one on its page",
    r"--as-of \(in Python as_of\) (lies in the future, .*?); correct it": (
        r"the date \1; choose a day that has begun, or leave the date empty: the release is then as of now"
    ),
    r"a release must be later than the last one, which is as of (.+?); give a later --as-of \(in Python as_of\)": (
        _too_early
    ),
    r"--as-of \(in Python as_of\) must be": "the date must be",
    r'say that it is meant: --(new-people|fewer-rows|same-view), in Python meant=\["\1"\]': "say so at the trial run",
    r'say why: --expect-anyway REASON, in Python expect_anyway="REASON"': "say why at the trial run",
    r", or have it wait with --wait SECONDS": "",
    r"(\w+) of the gate must be (.+?); correct it in \[gate\] or --gate": _of_gate,
    r"for example with iconv": "or save it again from a spreadsheet as “CSV UTF-8”",
    r"give those of all releases so far \(--truth DIR\)": "choose the files of all earlier releases",
    r"^[\w, ]+ would be looser than before, (.+?), for the ledger and the report; give a reason \(--reason TEXT\)": (
        r"the gate would be looser than before, \1, for the record and the report; give a reason below"
    ),
    r"; give views \(--from VIEW\), or limits such as [\w.=,]+": "; choose past files below, or give limits",
    r"; give --knowledge DIR": ", and this series has no such knowledge",
    r"; give the raw views \(--truth DIR\)": "; choose the raw views below",
    r"Correct them, or list the texts that mean missing in the schema: missing = \[\.\.\.\]": "Correct them",
    r", or let the schema say how to read them: normal = .*": "",
    r"\bview\.(?:csv|parquet)\b": "the file",
    r"Say which, --read dates\.[^=]+=\S+?, or write": "Choose it in the row of the column, or write",
    r"; label one in the schema": "; choose that role for a column",
    r"the schema names columns that the table does not have:": "the file lacks columns of this series:",
    r"whose schema (has|lists)": r"that \1",
    r"in the schema": "when the series is made",
    r"\b(the|a) schema\b": r"\1 series",
}
_ELSEWHERE = {
    r"`republish ([a-z]+)[^`]*`": r"“\1” on the command line",
    r"`([a-z]+) [^`]*--[a-z][^`]*`": r"“\1” on the command line",
    r"`?(?<![\w-])--([a-z][a-z-]*)(?:[ =][^\s`;,.()]+`|`|[ =][A-Z][A-Z_]+\b)?": r"“\1” on the command line",
}
"""Commands and options without words of their own."""
