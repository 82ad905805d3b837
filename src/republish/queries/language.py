"""The language of conditions, a small part of SQL: text in, a tree of tests out.

    age between 40 and 50 and gender = 'F'
    zip in ('12031', '12032') or (not weight >= 80.5 and born < '1990-01-01')
    "marital status" is not null

A test compares one column with `=`, `!=` or `<>`, `<`, `<=`, `>`, `>=`, `[not] between .. and ..`,
`[not] in (..)` or `is [not] null`; tests are joined with `and`, `or`, `not` and parentheses. Texts and dates
stand in single quotes (a quote in a text is doubled), numbers without. A column whose name is no plain word
stands in double quotes. As in SQL a missing value satisfies no test but `is null`, nor its negation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from republish.errors import PolicyError

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_DEEPEST = 50
_KEYWORDS = ("and", "or", "not", "between", "in", "is", "null")
_TOKENS = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<sign><=|>=|!=|<>|=|<|>|\(|\)|,)
    | (?P<word>[^\W\d](?:[\w.-]*\w)?)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Literal:
    """A number or a text as it was written."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Test:
    """One comparison of one column; `sign` is a comparison, `between`, `in` or `null`."""

    column: str
    sign: str
    values: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Not:
    """True where its part is false."""

    part: Condition


@dataclass(frozen=True)
class Every:
    """True where every part is; without parts always."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """True where some part is."""

    parts: tuple[Condition, ...]


Condition = Test | Not | Every | Either


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


def parse_condition(text: str) -> Condition:
    """The tree of a condition; a blank text is true of everybody.

    Raises:
        PolicyError: the text is not a condition; the message says where and what is expected.
    """
    if not text.strip():
        return Every(())
    reader = _Parser(_tokens(text))
    condition = reader.either(0)
    if reader.here.kind != "end":
        reader.refuse("`and`, `or` or the end of the condition")
    return condition


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    while place < len(text):
        match = _TOKENS.match(text, place)
        if match is None:
            raise PolicyError(
                f"the condition cannot be read from character {place + 1} on; {_hint(text[place])}"
            )
        kind, found = str(match.lastgroup), match.group()
        if kind == "word" and found.lower() in _KEYWORDS:
            kind, found = "keyword", found.lower()
        if kind != "space":
            tokens.append(_Token(kind, found, place + 1))
        place = match.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


def _hint(character: str) -> str:
    if character in "'\"":
        return "close the quote that begins there (a quote inside a text is doubled)"
    if character.isdigit() or character in "+-.":
        return "numbers are written like 40 or -2.5, dates like '2024-01-31' in single quotes"
    return "columns whose names are no plain words stand in double quotes, texts in single ones"


class _Parser:
    """Reads tokens from left to right; every method returns what it read and leaves `here` behind it."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def here(self) -> _Token:
        return self._tokens[self._at]

    def refuse(self, expected: str) -> NoReturn:
        found = f"found {self.here.text}" if self.here.text else "it ends there"
        raise PolicyError(f"character {self.here.place} of the condition: expected {expected}; {found}")

    def _take(self, *texts: str) -> bool:
        found = self.here.kind in ("keyword", "sign") and self.here.text in texts
        self._at += found
        return found

    def _need(self, text: str) -> None:
        if not self._take(text):
            self.refuse(f"`{text}`")

    def either(self, depth: int) -> Condition:
        parts = [self._every(depth)]
        while self._take("or"):
            parts.append(self._every(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _every(self, depth: int) -> Condition:
        parts = [self._one(depth)]
        while self._take("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _one(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise PolicyError(f"a condition may be nested {_DEEPEST} deep at most; write it flatter")
        if self._take("not"):
            return Not(self._one(depth + 1))
        if self._take("("):
            inside = self.either(depth + 1)
            self._need(")")
            return inside
        return self._test()

    def _test(self) -> Condition:
        column = self._column()
        if self._take("is"):
            negated = self._take("not")
            self._need("null")
            return _maybe(negated, Test(column, "null"))
        negated = self._take("not")
        if self._take("between"):
            low = self._literal()
            self._need("and")
            return _maybe(negated, Test(column, "between", (low, self._literal())))
        if self._take("in"):
            return _maybe(negated, Test(column, "in", self._list()))
        sign = self.here.text
        if negated or not self._take(*COMPARISONS, "<>"):
            self.refuse("`between` or `in`" if negated else "a comparison, `between`, `in` or `is null`")
        return Test(column, "!=" if sign == "<>" else sign, (self._literal(),))

    def _column(self) -> str:
        token = self.here
        if token.kind not in ("word", "name"):
            self.refuse("the name of a column, in double quotes where it is no plain word")
        self._at += 1
        return token.text if token.kind == "word" else token.text[1:-1].replace('""', '"')

    def _list(self) -> tuple[Literal, ...]:
        self._need("(")
        values = [self._literal()]
        while self._take(","):
            values.append(self._literal())
        self._need(")")
        return tuple(values)

    def _literal(self) -> Literal:
        token = self.here
        if token.kind == "keyword" and token.text == "null":
            self.refuse("a value; write `is null` to ask for missing values")
        if token.kind not in ("number", "text"):
            self.refuse("a number, or a text or date in single quotes")
        self._at += 1
        if token.kind == "number":
            return Literal(token.text, float(token.text))
        return Literal(token.text[1:-1].replace("''", "'"))


def _maybe(negated: bool, test: Test) -> Condition:
    return Not(test) if negated else test
