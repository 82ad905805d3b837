"""Which columns a table has and what role each plays.

Roles: the *identifier* names a person and is never published; *quasi-identifiers* may be known from
elsewhere and are generalized; the *sensitive* column is what nobody may learn of a person;
*insensitive* columns are published as they are; columns to *drop* are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from republish.errors import SchemaError
from republish.hierarchies import Hierarchy
from republish.schema.amendments import Amendments, new_series
from republish.schema.column_names import listed, require_names
from republish.schema.columns import PUBLISH, Category, Column
from republish.schema.dialect import USUAL, Dialect

ROLES = ("identifier", "quasi-identifier", "sensitive", "insensitive", "drop")
DROP_POINT_ZERO = "drop-point-zero"
NORMAL_FORMS = ("strip", "lower-case", DROP_POINT_ZERO, "drop-leading-zeros")
"""What may be done to identifiers before people are recognised by them, in this order."""
_ODD = re.compile(r'["\r\n]|^\*$|^\^.*\$$')


@dataclass(frozen=True)
class Schema:
    """The roles of all columns of a table; a column without a role is an error wherever it appears.

    `missing` lists the texts that stand for a missing cell in CSV files, beside the empty cell. `direct` names
    insensitive columns that may be published although their values look as if they named people. `normal` is the form
    in which identifiers are compared, some of `NORMAL_FORMS`; without it they are taken as they are written. `files`
    says how the files of views are written. `labels` and `descriptions` tell recipients what columns mean, by name; no
    promise depends on them. `amended` says how views of today are read into the columns of a series; no schema file
    holds it.
    """

    identifier: str | None = None
    quasi_identifiers: tuple[Column, ...] = ()
    sensitive: Column | None = None
    insensitive: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    normal: tuple[str, ...] = ()
    files: Dialect = USUAL
    labels: tuple[tuple[str, str], ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()
    amended: Amendments = field(default=Amendments(), hash=False)

    def __init__(
        self,
        identifier: str | None = None,
        quasi_identifiers: Sequence[Column | str] = (),
        sensitive: Column | str | None = None,
        insensitive: Iterable[str] = (),
        missing: Iterable[str] = (),
        dropped: Iterable[str] = (),
        direct: Iterable[str] = (),
        normal: Iterable[str] = (),
        files: Dialect = USUAL,
        labels: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        descriptions: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        amended: Amendments | None = None,
    ) -> None:
        object.__setattr__(self, "identifier", identifier)
        object.__setattr__(self, "quasi_identifiers", _columns(quasi_identifiers))
        object.__setattr__(self, "sensitive", _columns([sensitive])[0] if sensitive is not None else None)
        object.__setattr__(self, "insensitive", _texts("insensitive", insensitive))
        object.__setattr__(self, "missing", _texts("missing", missing))
        object.__setattr__(self, "dropped", _texts("dropped", dropped))
        object.__setattr__(self, "direct", _texts("direct", direct))
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "amended", amended or Amendments())
        _texts("identifier", [] if identifier is None else [identifier])
        others = [name for name in self.direct if name not in self.insensitive]
        if others:
            raise SchemaError(
                f"direct of a schema names insensitive columns; {listed(others)} is none. Other columns say it "
                f'themselves: Category(name, direct="{PUBLISH}")'
            )
        object.__setattr__(self, "normal", _normal(normal, identifier))
        object.__setattr__(self, "labels", _words("labels", labels, self.published_columns))
        object.__setattr__(self, "descriptions", _words("descriptions", descriptions, self.published_columns))
        names = (*self.columns, *self.dropped)
        twice = sorted(name for name, roles in Counter(names).items() if roles > 1)
        if twice:
            raise SchemaError(f"a column has one role; these have two: {listed(twice)}")
        odd = [name for name in names if _ODD.search(name)]
        if odd:
            raise SchemaError(
                "a column's name must not hold a double quote or a line break, and must not be * or lie between ^ and "
                f"$, which tables and queries read otherwise; {len(odd)} do: rename them"
            )
        clash = sorted(set(self.published_columns) & {"group", "level"})
        if clash:
            raise SchemaError(
                f"a release has columns of its own called group and level; rename {listed(clash)}"
            )
        typed = {f"{c.name}_{end}": c.name for c in self.quasi_identifiers for end in ("lo", "hi", "missing")}
        clash = sorted(set(self.published_columns) & typed.keys())
        if clash:
            raise SchemaError(
                f"a typed release of {typed[clash[0]]} has a column {clash[0]} of its own; rename {listed(clash)}"
            )
        if not self.quasi_identifiers:
            raise SchemaError("a schema needs at least one quasi-identifier; label one column so")
        if self.sensitive is not None and self.sensitive.weight != 1:
            raise SchemaError(
                f"column {self.sensitive.name}: a weight counts in the penalty of quasi-identifiers; the sensitive "
                "column has none, remove it"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that a view must have."""
        first = (self.identifier,) if self.identifier else ()
        return (*first, *self.published_columns)

    @property
    def published_columns(self) -> tuple[str, ...]:
        """The columns of a release: quasi-identifiers, insensitive ones, the sensitive one."""
        last = (self.sensitive.name,) if self.sensitive else ()
        return (*(column.name for column in self.quasi_identifiers), *self.insensitive, *last)

    @property
    def published_directly(self) -> tuple[str, ...]:
        """The columns that may be published although their values look as if they named people."""
        columns = (*self.quasi_identifiers, *((self.sensitive,) if self.sensitive else ()))
        return (*(column.name for column in columns if column.direct), *self.direct)

    @property
    def has_open_list(self) -> bool:
        """Whether sensitive values may appear that the schema does not list."""
        return self.sensitive is not None and self.sensitive.closed is None

    def column(self, name: str) -> Column:
        for column in (*self.quasi_identifiers, self.sensitive):
            if column is not None and column.name == name:
                return column
        raise SchemaError(f"there is no quasi-identifier or sensitive column called {name}")

    def with_hierarchies(self, hierarchies: Mapping[str, Hierarchy]) -> Schema:
        def renewed(column: Column) -> Column:
            return (
                replace(column, hierarchy=hierarchies[column.name]) if column.name in hierarchies else column
            )

        return replace(
            self,
            quasi_identifiers=tuple(renewed(column) for column in self.quasi_identifiers),
            sensitive=renewed(self.sensitive) if self.sensitive else None,
        )

    @property
    def headings(self) -> set[str]:
        """All headings that a table may have."""
        return {*self.columns, *self.dropped, *self.amended.headings}

    @property
    def may_be_absent(self) -> tuple[str, ...]:
        """The columns without which a series can go on: what is missing in every row."""
        return (*(column.name for column in self.quasi_identifiers), *self.insensitive)

    def lacking(self, found: Iterable[str]) -> list[str]:
        """The columns that a table with these headings does not have, and must."""
        there = {*map(self.amended.column_of, found), *self.amended.optional}
        return [name for name in self.columns if name not in there]

    def require_labels(self, found: Sequence[str]) -> None:
        """Refuse a table whose columns are not exactly those of the schema."""
        meant = [self.amended.column_of(name) for name in found]
        if not set(meant) & set(self.columns):  # perhaps a file without a header: its first cells stay unsaid
            raise SchemaError(
                f"the table has none of the columns of the schema: {listed(self.columns)}; "
                "a CSV view starts with a line of column names"
            )
        if len(set(found)) < len(found):
            raise SchemaError("two columns of the table have the same name; rename one")
        require_names(found, self.headings)
        twice = [name for name in self.columns if meant.count(name) > 1]
        if twice:
            raise SchemaError(
                f"a column may be in a table once; {listed(twice)} is there under two names: remove one of them"
            )
        unlabelled, absent = [name for name in found if name not in self.headings], self.lacking(found)
        lacking = f"the schema names columns that the table does not have: {listed(absent)}" if absent else ""
        if unlabelled:
            also = f"; {lacking}" if absent else ""
            raise SchemaError(
                f"every column needs a role; without one: {listed(unlabelled)}{also}. "
                f"{self._remedy(unlabelled, absent)}"
            )
        if absent:
            raise SchemaError(f"{lacking}. {self._remedy([], absent)}")

    def _remedy(self, unlabelled: Sequence[str], absent: Sequence[str]) -> str:
        """What to do about the headings of a table: what may be done depends on whether anything was published."""
        if self.amended.series is not None:
            ways = self.amended.remedies(unlabelled, absent, self.may_be_absent)
            if unlabelled:
                ways += (
                    f". To publish it, begin a new series and adopt the releases of this one: {new_series()}"
                )
            return f"Correct the view; or {ways}" if ways else "Give a view that has them"
        if not unlabelled:
            return "Give a table that has them, or take them out of the schema"
        name = unlabelled[0]
        key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
        renamed = f"if it is {listed(absent[:1])}, give it that name; else add" if absent else "Add"
        return (
            f"{renamed[:1].upper()}{renamed[1:]} to the schema, for example, "
            f'[columns.{key}] with role = "drop" to leave it out, or one of {", ".join(ROLES[:4])}'
        )


def _words(
    what: str, given: Mapping[str, str] | Iterable[tuple[str, str]], published: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """What is told of published columns, in their order; of others, such as a part leaves out, nothing is."""
    try:
        words: dict[str, str] = dict(given)
    except (TypeError, ValueError):
        words = {"": 0}  # type: ignore[dict-item]
    if not all(isinstance(text, str) for text in words.values()):
        raise SchemaError(
            f'{what} of a schema are texts by the name of a column: {what}={{"age": "Age in years"}}'
        )
    return tuple((name, words[name]) for name in published if name in words)


def _columns(given: Iterable[Column | str]) -> tuple[Column, ...]:
    """The columns; a mere name is a category."""
    if isinstance(given, str | Column):
        raise SchemaError("quasi_identifiers is a list of columns or of their names; put [ ] around the one")
    every = tuple(Category(one) if isinstance(one, str) else one for one in given)
    odd = {type(one).__name__ for one in every if not isinstance(one, Column)}
    if odd:
        raise SchemaError(
            "a quasi-identifier or sensitive column is Number(name), Ordered(name, order), Category(name), Date(name) "
            f"or a name, which means a category; found {', '.join(sorted(odd))}"
        )
    return every


def _texts(what: str, given: Iterable[str]) -> tuple[str, ...]:
    """A list of texts; a single text would be taken for its letters."""
    every = () if isinstance(given, str) else tuple(given)
    if isinstance(given, str) or not all(isinstance(one, str) for one in every):
        raise SchemaError(f"{what} of a schema is made of texts: {_TEXTS.get(what, 'a list of names')}")
    return every


_TEXTS = {"identifier": "the name of one column", "missing": 'a list such as ["NA", "?"]'}


def _normal(forms: Iterable[str], identifier: str | None) -> tuple[str, ...]:
    """The forms in the order in which they are applied."""
    if isinstance(forms, str) or not isinstance(forms, Iterable):
        forms = [forms]
    given = list(forms)
    if not all(form in NORMAL_FORMS for form in given):
        raise SchemaError(f"the normal form of identifiers is a list of some of {', '.join(NORMAL_FORMS)}")
    if given and identifier is None:
        raise SchemaError("a normal form is one of identifiers; label a column as the identifier")
    return tuple(form for form in NORMAL_FORMS if form in given)
