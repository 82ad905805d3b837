"""The form of a release: one table, or two tables with the k of their people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from republish.errors import PolicyError
from republish.requirements import KAnonymity
from republish.schema import Schema
from republish.schema.column_names import listed

ONE_TABLE, TWO_TABLES = "one-table", "two-tables"
KEPT_CUTS = "kept-cuts"
"""The promise over a series that cells of different releases are nested or apart."""
HIDDEN_BATCH = "hidden-batch"
"""The promise that the cells of every batch are the whole space, so that quasi-identifiers exclude no batch."""
PRESENCE = ("protected", "public")
_OWN_COLUMNS = ("batch", "count")


@dataclass(frozen=True)
class TwoTables:
    """People in cells of at least `k` who look alike, and values by batch: see `republish.release.two_tables`.

    With `presence="public"` the custodian says that everybody may know who is in the table; then k may be 1, and exact
    quasi-identifiers are published as in Anatomy (Xiao and Tao, VLDB 2006). With `hide_batch` the people of a cell are
    all of one batch, and the cells of every batch are the whole space: see `republish.spatial.batch_cells`.
    """

    k: int = 5
    presence: str = "protected"
    hide_batch: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing, and exact quasi-identifiers where presence is to be protected."""
        if self.presence not in PRESENCE:
            raise PolicyError(f"{TWO_TABLES}: presence must be {' or '.join(PRESENCE)}")
        object.__setattr__(self, "k", KAnonymity(self.k).k)
        if not isinstance(self.hide_batch, bool):
            raise PolicyError(f"{TWO_TABLES}: hide_batch must be true or false")
        if self.k == 1 and self.hide_batch:
            raise PolicyError(
                f"{TWO_TABLES}: hide_batch needs k of 2 or more people of a batch in a cell; found k=1; choose a "
                "larger k, or leave hide_batch out"
            )
        if self.k == 1 and self.presence != "public":
            raise PolicyError(
                f"{TWO_TABLES}: k=1 publishes exact quasi-identifiers, by which anybody sees who is in the table; "
                'choose k of 2 or more, or say that this is no secret: presence = "public"'
            )

    @property
    def requirement(self) -> KAnonymity:
        """What every cell of people satisfies."""
        return KAnonymity(self.k)

    @property
    def series_promises(self) -> tuple[str, ...]:
        """What is promised of the cells of all releases."""
        return (KEPT_CUTS, HIDDEN_BATCH) if self.hide_batch else (KEPT_CUTS,)

    def require_fit(self, schema: Schema) -> None:
        """Refuse a schema whose columns cannot be published in two tables."""
        if schema.sensitive is None:
            raise PolicyError(f"the form {TWO_TABLES} needs a sensitive column; label one in the schema")
        clash = [name for name in schema.published_columns if name in _OWN_COLUMNS]
        if clash:
            raise PolicyError(
                f"two tables have columns of their own called {' and '.join(_OWN_COLUMNS)}; rename {listed(clash)}"
            )

    def sentence(self) -> str:
        """What the form means to a custodian who publishes in it."""
        among = "of one batch " if self.hide_batch else ""
        shown = (
            "people with their exact quasi-identifiers"
            if self.k == 1
            else f"people with quasi-identifiers so fine that at least {self.k} {among}look alike"
        )
        return f"two tables, {shown}, and how often each value occurs in a batch of people; whose it is, is not said"

    def document(self) -> dict[str, Any]:
        """What `series.toml` says of it."""
        settings = asdict(self)
        if not self.hide_batch:
            del settings["hide_batch"]  # series made before there was the choice say nothing of it
        return {"name": TWO_TABLES} | settings


def form_sentence(form: TwoTables | None) -> str:
    """What the form of a series means, in one sentence."""
    return (
        "one table, in which every row shows the cells of a group and a value"
        if form is None
        else form.sentence()
    )


def form_from(given: Any) -> TwoTables | None:
    """The form that `series.toml` or a command names; `None` for one table."""
    settings = {"name": given} if isinstance(given, str) else given
    if settings is None or settings == {"name": ONE_TABLE}:
        return None
    if not isinstance(settings, Mapping) or settings.get("name") != TWO_TABLES:
        raise PolicyError(f'the form of a release is "{ONE_TABLE}" or "{TWO_TABLES}"')
    unknown = sorted(set(settings) - {"name", *TwoTables.__dataclass_fields__})
    if unknown:
        raise PolicyError(
            f"the form {TWO_TABLES} has no setting {listed(unknown)}; it has k, presence and hide_batch"
        )
    own: dict[str, Any] = {name: value for name, value in settings.items() if name != "name"}
    return TwoTables(**own)
