"""A slow, obvious adversary: of each person she keeps whole sequences of values, each with its probability."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import numpy as np

from republish.knowledge import Knowledge

Sequence = tuple[int, ...]
Distribution = list[float]


class Adversary:
    """Beliefs as dictionaries; `form` is one of the three of `republish.inference.revision`."""

    def __init__(self, knowledge: Knowledge, form: str = "joint") -> None:
        self.knowledge, self.form = knowledge.complete(), form
        self.m, self.d = knowledge.size, knowledge.order
        self.one_step = knowledge.steps(1).complete() if knowledge.order else knowledge
        self.paths: dict[object, dict[Sequence, float]] = {}
        self.posteriors: dict[object, list[Distribution]] = {}

    def following(self, number: int, path: Sequence) -> Distribution:
        """The chances of the next value after a sequence, of which the last d values count."""
        assert self.knowledge.sequential is not None
        last = ([self.m] * self.d + list(path))[-self.d :]
        older = 0
        for value in last[:-1]:
            older = older * (self.m + 1) + value
        return [float(p) for p in self.knowledge.sequential[number, older, last[-1]]]

    def weights(self, who: object, number: int) -> dict[Sequence, float]:
        """How likely each sequence of a person's values so far is."""
        if self.form == "joint":
            return self.paths.get(who, {})
        past = self.posteriors.get(who, [])[-self.d :]
        if not past:
            return {}
        found = {}
        for path in product(range(self.m), repeat=len(past)):
            if self.form == "product":
                found[path] = prod(p[v] for p, v in zip(past, path, strict=True))
            else:
                assert self.one_step.sequential is not None
                step = self.one_step.sequential[number, 0]
                chain = prod(float(step[a, b]) for a, b in pairwise(path))
                found[path] = past[0][path[0]] * chain
        return found

    def flow(self, who: object, number: int) -> dict[Sequence, float]:
        """How likely each sequence of values so far and the next one is."""
        found = {}
        for path, weight in self.weights(who, number).items():
            for value, p in enumerate(self.following(number, path)):
                found[*path, value] = weight * p
        return found

    def prior(self, who: object, number: int) -> Distribution:
        """What she believes of a person's next value."""
        of_class = [float(p) for p in self.knowledge.prior[number]]
        if self.d == 0:
            return of_class
        next_value = [0.0] * self.m
        for path, p in self.flow(who, number).items():
            next_value[path[-1]] += p
        total = sum(next_value)
        return [p / total for p in next_value] if total else of_class

    def observe(self, who: object, number: int, posterior: Distribution) -> None:
        """Take in what a release says of the person's value."""
        self.posteriors.setdefault(who, []).append(posterior)
        if self.d == 0:
            return
        before = self.paths.get(who)
        if not before:
            self.paths[who] = {(v,): p for v, p in enumerate(posterior)}
            return
        flow = dict.fromkeys(product(range(self.m), repeat=len(next(iter(before))) + 1), 0.0)
        for path, weight in before.items():
            for value, p in enumerate(self.following(number, path)):
                flow[*path, value] += weight * p
        expected = [sum(p for path, p in flow.items() if path[-1] == v) for v in range(self.m)]
        after = {}
        for path, p in flow.items():
            value = path[-1]
            if expected[value] > 0:
                after[path] = p / expected[value] * posterior[value]
            else:
                after[path] = before.get(path[:-1], 0.0) * posterior[value]
        total = sum(after.values())
        self.paths[who] = {path: p / total for path, p in after.items()}

    def context(self, who: object) -> np.ndarray:
        """The distribution of the last d values [older values and last value], as `Revision` writes it."""
        found = np.zeros((self.m + 1) ** (self.d - 1) * self.m)
        for path, p in self.paths.get(who, {}).items():
            place = 0
            for value in ([self.m] * self.d + list(path))[-self.d : -1]:
                place = place * (self.m + 1) + value
            found[place * self.m + path[-1]] += p
        return found


def divergence(priors: list[Distribution]) -> float:
    """The Jensen-Shannon divergence of some distributions with equal weights, in bits."""
    mean = [sum(p[s] for p in priors) / len(priors) for s in range(len(priors[0]))]
    return entropy(mean) - sum(entropy(p) for p in priors) / len(priors)


def entropy(p: Distribution) -> float:
    return -sum(float(x * np.log2(x)) for x in p if x > 0)


def kolmogorov(priors: list[Distribution]) -> float:
    """The largest difference of chances added up to any value, of any two."""
    sums = [[sum(p[: s + 1]) for s in range(len(p))] for p in priors]
    return max(abs(a - b) for one in sums for other in sums for a, b in zip(one, other, strict=True))
