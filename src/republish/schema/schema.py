"""Which columns a table has, what role each plays and how its values compare.

Roles: the *identifier* names a person and is never published; *quasi-identifiers* may be known from
elsewhere and are generalized; the *sensitive* column is what nobody may learn of a person;
*insensitive* columns are published as they are; columns to *drop* are left out. Kinds: number, ordered,
category, date.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from republish.errors import SchemaError
from republish.hierarchies import ROOT, Hierarchy, Rule, read_hierarchy, rule_from_spec
from republish.schema.column_names import listed, require_names

ROLES = ("identifier", "quasi-identifier", "sensitive", "insensitive", "drop")
KINDS = ("number", "ordered", "category", "date")
DROP_POINT_ZERO = "drop-point-zero"
NORMAL_FORMS = ("strip", "lower-case", DROP_POINT_ZERO, "drop-leading-zeros")
"""What may be done to identifiers before people are recognised by them, in this order."""
DISTANCES = ("equal", "ordered", "hierarchical")
PUBLISH = "publish"  # what `direct` says

HierarchySource = Hierarchy | Rule | str | Path | None


@dataclass(frozen=True)
class Column:
    """One column whose values matter: a quasi-identifier or the sensitive one.

    `direct="publish"` says that its values may be published although they look as if they named people.
    """

    name: str
    kind: ClassVar[str] = ""

    hierarchy: Hierarchy | Rule | None = None
    distance: str | None = None
    direct: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Read the hierarchy where a path is given; refuse an unknown distance."""
        given: HierarchySource = self.hierarchy
        if isinstance(given, str | Path):
            object.__setattr__(self, "hierarchy", read_hierarchy(Path(given)))
        kinds = getattr(self.hierarchy, "kinds", KINDS)
        if self.kind and self.kind not in kinds:
            rule = type(self.hierarchy).__name__
            raise SchemaError(f"column {self.name}: {rule} is for kind {', '.join(kinds)}; found {self.kind}")
        if self.direct not in (None, PUBLISH):
            raise SchemaError(f'column {self.name}: direct may be "{PUBLISH}" only, or left out')
        if self.distance is not None and self.distance not in DISTANCES:
            raise SchemaError(f"column {self.name}: distance must be one of {', '.join(DISTANCES)}")
        if self.distance == "ordered" and self.kind == "category":
            raise SchemaError(f"column {self.name}: an ordered distance needs kind ordered, number or date")
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise SchemaError(f"column {self.name}: a hierarchical distance needs a hierarchy")

    @property
    def closed(self) -> tuple[str, ...] | None:
        """The only values that may occur, where the schema lists them."""
        return None

    def _refuse_unknown_leaves(self) -> None:
        if isinstance(self.hierarchy, Hierarchy) and self.closed is not None:
            unknown = len(set(self.closed) - set(self.hierarchy.leaves))
            if unknown:
                raise SchemaError(
                    f"column {self.name}: {unknown} values of its list are not in its hierarchy; add them"
                )


@dataclass(frozen=True)
class Number(Column):
    """Whole or decimal numbers; `domain=(low, high)` fixes the width that losses are measured by."""

    kind: ClassVar[str] = "number"
    domain: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse a domain that is not a low and a high bound."""
        super().__post_init__()
        if self.domain is not None:
            if len(self.domain) != 2 or not -math.inf < self.domain[0] <= self.domain[1] < math.inf:
                raise SchemaError(
                    f"column {self.name}: the domain of a number is [low, high] with low <= high"
                )
            object.__setattr__(self, "domain", (float(self.domain[0]), float(self.domain[1])))


@dataclass(frozen=True)
class Ordered(Column):
    """Named values with an order, lowest first: `Ordered("degree", order=("school", "college"))`."""

    kind: ClassVar[str] = "ordered"
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an order that is empty or names a value twice."""
        super().__post_init__()
        object.__setattr__(self, "order", tuple(self.order))
        if not self.order or len(set(self.order)) < len(self.order):
            raise SchemaError(
                f"column {self.name}: an ordered column needs `order`, its values lowest first, each once"
            )
        if ROOT in self.order:
            raise SchemaError(
                f"column {self.name}: {ROOT} stands for any value in a release; rename that value"
            )
        self._refuse_unknown_leaves()

    @property
    def closed(self) -> tuple[str, ...]:
        """The values in their order."""
        return self.order


@dataclass(frozen=True)
class Category(Column):
    """Named values without an order; `domain` closes the list of values that may occur."""

    kind: ClassVar[str] = "category"
    domain: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a domain that names a value twice or disagrees with the hierarchy."""
        super().__post_init__()
        if self.domain is not None:
            object.__setattr__(self, "domain", tuple(self.domain))
            if len(set(self.domain)) < len(self.domain):
                raise SchemaError(f"column {self.name}: a domain names each value once")
        self._refuse_unknown_leaves()

    @property
    def closed(self) -> tuple[str, ...] | None:
        """The domain, where there is one."""
        return self.domain


@dataclass(frozen=True)
class Date(Column):
    """Calendar days, written YYYY-MM-DD."""

    kind: ClassVar[str] = "date"


_ODD = re.compile(r'["\r\n]|^\*$|^\^.*\$$')
_CLASSES: dict[str, type[Column]] = {"number": Number, "ordered": Ordered, "category": Category, "date": Date}
_FIELDS = {
    "number": {"hierarchy", "distance", "direct", "domain"},
    "ordered": {"hierarchy", "distance", "direct", "order"},
    "category": {"hierarchy", "distance", "direct", "domain"},
    "date": {"hierarchy", "distance", "direct"},
}


@dataclass(frozen=True)
class Schema:
    """The roles of all columns of a table; a column without a role is an error wherever it appears.

    `missing` lists the texts that stand for a missing cell in CSV files, beside the empty cell. `direct` names
    insensitive columns that may be published although their values look as if they named people. `normal` is the form
    in which identifiers are compared, some of `NORMAL_FORMS`; without it they are taken as they are written.
    """

    identifier: str | None = None
    quasi_identifiers: tuple[Column, ...] = ()
    sensitive: Column | None = None
    insensitive: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    normal: tuple[str, ...] = ()

    def __init__(
        self,
        identifier: str | None = None,
        quasi_identifiers: Sequence[Column] = (),
        sensitive: Column | str | None = None,
        insensitive: Iterable[str] = (),
        missing: Iterable[str] = (),
        dropped: Iterable[str] = (),
        direct: Iterable[str] = (),
        normal: Iterable[str] = (),
    ) -> None:
        if isinstance(sensitive, str):
            sensitive = Category(sensitive)
        object.__setattr__(self, "identifier", identifier)
        object.__setattr__(self, "quasi_identifiers", tuple(quasi_identifiers))
        object.__setattr__(self, "sensitive", sensitive)
        object.__setattr__(self, "insensitive", tuple(insensitive))
        object.__setattr__(self, "missing", tuple(missing))
        object.__setattr__(self, "dropped", tuple(dropped))
        object.__setattr__(self, "direct", tuple(direct))
        others = [name for name in self.direct if name not in self.insensitive]
        if others:
            raise SchemaError(
                f"direct of a schema names insensitive columns; {listed(others)} is none. Other columns say it "
                f'themselves: Category(name, direct="{PUBLISH}")'
            )
        object.__setattr__(self, "normal", _normal(normal, identifier))
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

    def column(self, name: str) -> Column:
        """The quasi-identifier or sensitive column of that name."""
        for column in (*self.quasi_identifiers, self.sensitive):
            if column is not None and column.name == name:
                return column
        raise SchemaError(f"there is no quasi-identifier or sensitive column called {name}")

    def with_hierarchies(self, hierarchies: Mapping[str, Hierarchy]) -> Schema:
        """This schema with some hierarchies replaced."""

        def renewed(column: Column) -> Column:
            return (
                replace(column, hierarchy=hierarchies[column.name]) if column.name in hierarchies else column
            )

        return replace(
            self,
            quasi_identifiers=tuple(renewed(column) for column in self.quasi_identifiers),
            sensitive=renewed(self.sensitive) if self.sensitive else None,
        )

    def require_labels(self, found: Sequence[str]) -> None:
        """Refuse a table whose columns are not exactly those of the schema."""
        if not set(found) & set(self.columns):  # perhaps a file without a header: its first cells stay unsaid
            raise SchemaError(
                f"the table has none of the columns of the schema: {listed(self.columns)}; "
                "a CSV view starts with a line of column names"
            )
        if len(set(found)) < len(found):
            raise SchemaError("two columns of the table have the same name; rename one")
        known = {*self.columns, *self.dropped}
        require_names(found, known)
        unlabelled = [name for name in found if name not in known]
        if unlabelled:
            name = unlabelled[0]
            key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
            raise SchemaError(
                f"every column needs a role; without one: {listed(unlabelled)}. Add to the schema, for example, "
                f'[columns.{key}] with role = "drop" to leave it out, or one of {", ".join(ROLES[:4])}'
            )
        absent = [name for name in self.columns if name not in found]
        if absent:
            raise SchemaError(f"the schema names columns that the table does not have: {listed(absent)}")


def read_schema(path: Path) -> Schema:
    """Read `schema.toml`; paths of hierarchies are relative to the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(
            f"there is no schema file {path}; `republish init --from VIEW` proposes one"
        ) from None
    except (UnicodeDecodeError, OSError):
        raise SchemaError(f"the schema {path} must be a TOML file in UTF-8") from None
    try:
        return schema_from_mapping(tomllib.loads(text), path.parent)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"{path} is not valid TOML: {problem}") from None


def schema_from_mapping(document: Mapping[str, Any], folder: Path) -> Schema:
    """The schema that a TOML document describes, one `[columns.NAME]` table a column."""
    columns = document.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(
            'a schema has one table a column, for example [columns.age] with role = "quasi-identifier"'
        )
    by_role: dict[str, list[Any]] = {role: [] for role in ROLES}
    for name, settings in columns.items():
        role = settings.get("role") if isinstance(settings, Mapping) else None
        if role not in ROLES:
            raise SchemaError(f"column {name} needs a role: one of {', '.join(ROLES)}")
        plain = role in ("identifier", "insensitive", "drop")
        own = {"identifier": {"normal"}, "insensitive": {"direct"}}.get(role, set())
        if plain and settings.keys() - {"role", "kind", *own}:
            but = "".join(f" and `{setting}`" for setting in sorted(own))
            raise SchemaError(f"column {name}: an {role} has no setting but its role{but}; remove the others")
        if settings.get("direct", PUBLISH) != PUBLISH:
            raise SchemaError(f'column {name}: direct may be "{PUBLISH}" only, or left out')
        by_role[role].append(name if plain else _column(name, settings, folder))
    for role in ("identifier", "sensitive"):
        if len(by_role[role]) > 1:
            names = listed(c if isinstance(c, str) else c.name for c in by_role[role])
            remedy = (
                "label the others insensitive or quasi-identifier, or combine them into one column first"
                if role == "sensitive"
                else "keep the one that names a person in every view, and drop the others"
            )
            raise SchemaError(f"a series has at most one {role} column; found {names}: {remedy}")
    return Schema(
        identifier=by_role["identifier"][0] if by_role["identifier"] else None,
        quasi_identifiers=by_role["quasi-identifier"],
        sensitive=by_role["sensitive"][0] if by_role["sensitive"] else None,
        insensitive=by_role["insensitive"],
        dropped=by_role["drop"],
        direct=[name for name in by_role["insensitive"] if "direct" in columns[name]],
        missing=_missing(document),
        normal=columns[by_role["identifier"][0]].get("normal", ()) if by_role["identifier"] else (),
    )


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


def _missing(document: Mapping[str, Any]) -> list[str]:
    marks = document.get("missing", [])
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise SchemaError('missing is a list of texts, such as missing = ["NA", "?"]')
    return marks


def _column(name: str, settings: Mapping[str, Any], folder: Path) -> Column:
    kind = settings.get("kind", "category")
    if kind not in KINDS:
        raise SchemaError(f"column {name}: kind must be one of {', '.join(KINDS)}")
    given = {key: value for key, value in settings.items() if key not in ("role", "kind")}
    unknown = sorted(set(given) - _FIELDS[kind])
    if unknown:
        raise SchemaError(
            f"column {name}: a column of kind {kind} has no setting {listed(unknown)}; "
            f"it may have {', '.join(sorted(_FIELDS[kind]))}"
        )
    source = given.get("hierarchy")
    if isinstance(source, str):
        given["hierarchy"] = read_hierarchy(folder / source)
    elif isinstance(source, Mapping):
        given["hierarchy"] = rule_from_spec(dict(source))
    elif source is not None:
        raise SchemaError(
            f"column {name}: hierarchy is the path of a file or a rule such as {{ redaction = true }}"
        )
    for key in ("domain", "order"):
        if key in given and not isinstance(given[key], list):
            raise SchemaError(f"column {name}: {key} is a list")
        if key in given and kind != "number":
            given[key] = tuple(str(value) for value in given[key])
    if kind == "number" and "domain" in given:
        if not all(type(bound) in (int, float) for bound in given["domain"]):
            raise SchemaError(f"column {name}: the domain of a number is [low, high]")
        given["domain"] = tuple(given["domain"])
    return _CLASSES[kind](name, **given)


def schema_to_mapping(schema: Schema, hierarchy_paths: Mapping[str, str]) -> dict[str, Any]:
    """The TOML document of a schema; table hierarchies are named by the given paths."""
    columns: dict[str, Any] = {}
    if schema.identifier:
        columns[schema.identifier] = {"role": "identifier"}
        if schema.normal:
            columns[schema.identifier]["normal"] = list(schema.normal)
    roles = [("quasi-identifier", column) for column in schema.quasi_identifiers]
    if schema.sensitive:
        roles.append(("sensitive", schema.sensitive))
    for role, column in roles:
        settings: dict[str, Any] = {"role": role, "kind": column.kind}
        if isinstance(column.hierarchy, Hierarchy):
            settings["hierarchy"] = hierarchy_paths[column.name]
        elif column.hierarchy is not None:
            settings["hierarchy"] = column.hierarchy.spec()
        if column.distance:
            settings["distance"] = column.distance
        if column.direct:
            settings["direct"] = column.direct
        if isinstance(column, Ordered):
            settings["order"] = list(column.order)
        elif isinstance(column, Number | Category) and column.domain is not None:
            settings["domain"] = list(column.domain)
        columns[column.name] = settings
    for name in schema.insensitive:
        columns[name] = {"role": "insensitive"} | ({"direct": PUBLISH} if name in schema.direct else {})
    for name in schema.dropped:
        columns[name] = {"role": "drop"}
    document: dict[str, Any] = {"columns": columns}
    if schema.missing:
        document["missing"] = list(schema.missing)
    return document
