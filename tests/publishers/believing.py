"""A series in memory, published by somebody who thinks as an adversary does, and a plain check of every group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from hypothesis import strategies as st

from inference.adversary import Adversary, divergence
from naive_requirements import beta as beta_of
from republish import Category, Number, Schema, read_view
from republish.grouping import Grouping
from republish.inference import Compromised, cascaded, posterior
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.publishers import Publisher
from republish.secret import Secret

SECRET = Secret.from_text("the same for all of these tests")
SCHEMA = Schema("id", [Number("age"), Category("sex"), Category("town")], "result")
CLOSE = 2e-5


def random_frame(rng: np.random.Generator, names: int = 30, share: float = 0.8, m: int = 3) -> pl.DataFrame:
    """Some of the people, each with a value; ages and sexes stay what they are, some are missing."""
    there = np.flatnonzero(rng.random(names) < share)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in there],
            "age": [None if i % 11 == 3 else 20 + (int(i) * 7) % 40 for i in there],
            "sex": [None if i % 13 == 5 else "FM"[i % 2] for i in there],
            "town": [["n", "s", "e", "w"][i % 4] for i in there],
            "result": [f"v{int(m * u**1.5)}" for u in rng.random(len(there))],
        },
        schema={"id": pl.String, "age": pl.Int64, "sex": pl.String, "town": pl.String, "result": pl.String},
    )


@dataclass
class Walk:
    """Publishes view after view; `adversary` keeps whole sequences of values, in plain Python."""

    publisher: Publisher
    j: float
    k: int
    t: float | None = None
    beta: float | None = None
    adversary: Adversary | None = None
    schema: Schema = SCHEMA
    memory: Memory = field(default_factory=Memory.empty)
    values: pl.Series | None = None
    against_view: bool = False
    groupings: list[Grouping] = field(default_factory=list)

    def publish(self, frame: pl.DataFrame, compromised: Compromised | None = None) -> Grouping:
        view = read_view(frame, self.schema, self.values).pseudonymous(SECRET)
        view = replace(view, compromised=compromised)
        grouping = self.publisher.publish(view, self.memory, np.random.default_rng(0))
        self.check_table(view, grouping)
        if self.adversary is not None:
            self.check_beliefs(view, grouping, compromised)
        release = self.memory.release + 1
        seen = sight(view, view.row_digests(SECRET), grouping.group + 1, release, self.memory)
        memory = replace(self.memory.merged(seen), release=release)
        self.memory = self.publisher.remember(view, grouping, memory)
        self.values = view.values
        self.groupings.append(grouping)
        return grouping

    def check_table(self, view: Microdata, grouping: Grouping) -> None:
        """k, t or beta in every group, against what is published, or against the view."""
        m = len(view.values)
        published = view.codes[grouping.group >= 0].tolist() + grouping.counterfeit_code.tolist()
        if self.against_view:
            published = view.codes.tolist()
        table = [published.count(s) for s in range(m)]
        for g in range(grouping.groups):
            mine = view.codes[grouping.group == g].tolist()
            assert len(mine) >= self.k
            mine += grouping.counterfeit_code[grouping.counterfeit_group == g].tolist()
            shares = [mine.count(s) for s in range(m)]
            if self.t is not None:
                apart = sum(
                    abs(a / len(mine) - b / len(published)) for a, b in zip(shares, table, strict=True)
                )
                assert apart / 2 <= self.t + 1e-9
            if self.beta is not None:
                assert float(beta_of(shares, table)) <= self.beta + 1e-9

    def check_beliefs(self, view: Microdata, grouping: Grouping, compromised: Compromised | None) -> None:
        """The divergence in every group; then the adversary sees the release."""
        assert self.adversary is not None and view.people is not None
        classes = self.publisher.knowledge.classes.of(view)  # type: ignore[attr-defined]
        people = [tuple(words) for words in view.people.tolist()]
        prior = np.array([self.adversary.prior(who, c) for who, c in zip(people, classes, strict=True)])
        prior = prior.reshape(view.rows, self.adversary.m)
        if compromised is not None:
            prior = cascaded(prior, compromised)
        believed = prior.copy()
        for g in range(grouping.groups):
            rows = np.flatnonzero(grouping.group == g)
            assert divergence(prior[rows].tolist()) <= self.j + CLOSE
            shown = [*view.codes[rows], *grouping.counterfeit_code[grouping.counterfeit_group == g]]
            sure = None
            if compromised is not None:
                known = compromised.certain()
                there = np.isin(known.row, rows)
                sure = Compromised(np.searchsorted(rows, known.row[there]), known.code[there], known.p[there])
            believed[rows] = posterior(prior[rows], shown, self.publisher.posterior, sure)  # type: ignore[attr-defined]
        for who, c, p in zip(people, classes, believed, strict=True):
            self.adversary.observe(who, c, p.tolist())


Options = st.fixed_dictionaries(
    {
        "k": st.integers(2, 3),
        "j": st.sampled_from([0.03, 0.2, 0.6]),
        "crowd": st.sampled_from([0.0, 5.0]),
        "keep": st.sampled_from([0.0, 2.0]),
        "order": st.sampled_from(["hilbert", "nearest"]),
        "cut": st.sampled_from(["optimal", "greedy"]),
        "rest": st.sampled_from(["insert", "suppress", "relax", "counterfeit"]),
        "against": st.sampled_from(["release", "view"]),
        "posterior": st.sampled_from(["exact", "omega", "bayes"]),
        "form": st.sampled_from(["joint", "product", "chained"]),
    }
)


def promised(publisher: Publisher) -> dict[str, float]:
    """What a publisher says it keeps, as numbers."""
    texts = [requirement.text for requirement in publisher.requirements] + list(publisher.series_promises)
    return {name: float(value) for name, value in (text.split("=") for text in texts)}
