"""How likely each candidate is that the equations leave: counted where worlds are few, sampled where they are many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.linear.board import Board, all_alike, interchangeable, ranges
from republish.attacks.linear.lines import LinedUp, _line_sweeps, lined_up
from republish.attacks.linear.sampling import Walkers, _sweeps
from republish.attacks.linear.search import GAVE_UP, NONE, _count, _search, new_state
from republish.attacks.linear.worlds import first_world

_WARM_UP, _UNSETTLED = 10, 0.1
_PILOT, _LEAST = (
    50,
    4,
)  # chains to learn how many unknowns one meets; fewest chains a sweep proposes in a component
_GLANCES = 2  # rounds of watching that mostly give everyone in a long line a second value
_LONGEST = 8  # most ways that are tried for each unknown of a line in a sweep
_FEW = 0.005  # so small a share of new cells is not worth another round


@dataclass(frozen=True)
class Budget:
    """How hard to try: what takes longer is left open, which is never wrong.

    `nodes` to count the worlds of a component of at most `largest` people, `support` to find a world for one value of
    one person, given up in a component after `patience` failures more than successes (and one more for every eight
    people). Components of at most `thorough` people are searched for every value, larger ones for people seen with one
    only, and after `effort` nodes in all nobody is. `start` to find any world of a component where the true one is not
    given. Everybody whose worlds were not counted is sampled by `chains` of about `moves` moves of one unknown in all,
    but at least `sweeps` over everyone, and a quarter as many to warm up; and where they have not settled twice as
    many, up to `longer` times as long as these are no more than `most` moves. Worlds are watched for up to `rounds`
    rounds before anybody is searched for.
    """

    nodes: int = 20_000
    largest: int = 60
    support: int = 200
    patience: int = 20
    thorough: int = 60
    effort: int = 100_000
    start: int = 200_000
    chains: int = 4
    moves: int = 400_000
    sweeps: int = 120
    longer: int = 3
    most: int = 20_000_000
    rounds: int = 20


@dataclass
class WeighedBoard:
    """What was found out about a board; its unknowns are `counted`, `sampled`, or neither where no world is known.

    `impossible` are cells that no world holds. `seen` are cells that some world holds: who has two is open for certain.
    `world` is the first one known, `moved` the one that watching and searching ended with. `walkers` are moved by
    chains and blocks, `travellers`, who are in long lines, by ways out.
    """

    board: Board
    probability: FloatArray
    impossible: BoolArray
    seen: BoolArray
    counted: BoolArray
    sampled: BoolArray
    world: IntArray
    moved: IntArray
    walkers: Walkers = field(default_factory=lambda: _walkers([]))
    travellers: Walkers = field(default_factory=lambda: _walkers([]))
    lined: LinedUp | None = None
    drift: float = 0.0
    unsettled: int = 0

    def sample(self, budget: Budget, seed: int) -> None:
        """Put shares of sampled worlds in the place of the probabilities of whoever is `sampled`.

        Every other chain starts at the first world, the true one where it is given, the others where search has ended.
        """
        board, who = self.board, np.concatenate([self.walkers.who, self.travellers.who])
        if not len(who):
            return
        half = max(1, budget.sweeps // 2, budget.moves // (2 * budget.chains * len(who)))
        worlds = [(self.world, self.moved)[chain % 2].copy() for chain in range(budget.chains)]
        for chain, world in enumerate(worlds):
            self.sweep(world, half // 2, seed + 3 * chain, np.zeros(board.cells))
        for longer in range(budget.longer + 1):
            self._drawn(worlds, half << longer, seed + 3 * budget.chains * longer)
            if not self.unsettled or (4 * half << longer) * budget.chains * len(who) > budget.most:
                break

    def _drawn(self, worlds: list[IntArray], half: int, seed: int) -> None:
        """Move worlds through twice so many sweeps, and compare what the halves and the chains say."""
        board, who, chains = self.board, np.concatenate([self.walkers.who, self.travellers.who]), len(worlds)
        halves = np.zeros((2, chains, board.cells))
        for chain, world in enumerate(worlds):
            for part in range(2):
                self.sweep(world, half, seed + 3 * chain + part + 1, halves[part, chain])
        cells = ranges(board.net.cell_start[who], board.net.cell_start[who + 1])
        shares = halves[:, :, cells] / half
        self.seen[cells] |= (shares > 0).any(axis=(0, 1))
        self.probability[cells] = self._smoothed(cells, shares.mean(axis=(0, 1)), 2 * chains * half)
        differs = np.abs(shares[0].mean(axis=0) - shares[1].mean(axis=0))
        if chains > 1:
            starts = shares[:, ::2].mean(axis=(0, 1)) - shares[:, 1::2].mean(axis=(0, 1))
            differs = np.maximum(differs, np.abs(starts))
        self.drift = float(differs.max())
        theirs = board.net.owner[cells][differs > _UNSETTLED]
        self.unsettled = int(np.count_nonzero(board.unknown[np.unique(theirs)] >= 0))

    def sweep(self, world: IntArray, sweeps: int, seed: int, counts: FloatArray) -> tuple[IntArray, IntArray]:
        """Move a world; how many unknowns chains met in every part of the walkers, and how many travellers moved."""
        net, code = self.board.net, self.board.code
        met, moved = (np.zeros(len(part.chains), dtype=np.int64) for part in (self.walkers, self.travellers))
        if len(met):
            met = _sweeps(net, code, world, self.walkers, sweeps, seed, counts)
        if len(moved):
            assert self.lined is not None
            moved = _line_sweeps(net, code, world, self.lined.ways, self.travellers, sweeps, seed, counts)
        return met, moved

    def _smoothed(self, cells: IntArray, shares: FloatArray, worlds: int) -> FloatArray:
        """Shares of so many worlds, with one more for every cell that was ever seen: none of these is impossible."""
        owner, seen = self.board.net.owner[cells], self.seen[cells]
        more = np.bincount(owner, seen, minlength=self.board.count)[owner]
        smoothed: FloatArray = (worlds * shares + seen) / (worlds + more)
        return smoothed


def weigh(
    board: Board, truth: IntArray, budget: Budget, seed: int, some: BoolArray | None = None
) -> WeighedBoard:
    """Count the worlds of small components; in large ones, seek a world for every cell or a proof that none exists.

    With `some` unknowns only their components are looked at.
    """
    net = board.net
    each = np.diff(net.cell_start)
    found = WeighedBoard(
        board,
        (1.0 / np.maximum(each, 1))[net.owner],
        np.zeros(board.cells, dtype=np.bool_),
        np.zeros(board.cells, dtype=np.bool_),
        np.zeros(board.count, dtype=np.bool_),
        np.zeros(board.count, dtype=np.bool_),
        *np.full((2, board.count), -1, dtype=np.int64),
    )
    state = new_state(board)
    large = []
    for who in _parts(board):
        if some is not None and not some[who].any():
            continue
        if all_alike(board, who):
            found.counted[who] = True
            found.seen[ranges(net.cell_start[who], net.cell_start[who + 1])] = True
        elif interchangeable(board, who):
            _dealt(found, who)
        elif len(who) > budget.largest or not _counted(found, state, who, budget):
            large.append(who)
    found.world, have = first_world(board, truth, large, state, budget.start)
    there = [who for who, has in zip(large, have, strict=True) if has]
    if not there:
        return found
    found.lined = lined_up(board)
    long = found.lined.longer_than(budget.thorough)
    found.walkers = _walkers([rest for who in there if len(rest := who[~long[who]])])
    found.travellers = _walkers(_lines(found.lined, np.concatenate([who[long[who]] for who in there])))
    everyone = np.concatenate([found.walkers.who, found.travellers.who])
    found.sampled[everyone] = True
    found.moved = found.world.copy()
    found.seen[found.world[everyone]] = True
    _watch(found, seed, budget.rounds)
    nodes = budget.effort
    for who in there:
        limits = budget.support, budget.patience + len(who) // 8, max(nodes, 0)
        nodes -= _search(net, state, found.moved, who, found.seen, limits, len(who) <= budget.thorough)
    found.impossible[state.trail[: state.height[0]]] = True
    return found


def surely_open(board: Board, truth: IntArray, budget: Budget, seed: int) -> BoolArray:
    """The unknowns of long lines in which worlds give everyone two values or more.

    Nobody there is determined by equations either, so they need not be solved; what they exclude is found unlikely.
    """
    lined = lined_up(board)
    line, long = lined.line, lined.longer_than(budget.thorough)
    if not long.any():
        return long
    seen = weigh(board, truth, replace(budget, effort=0, nodes=0, rounds=_GLANCES), seed, long).seen
    single = (line >= 0) & (np.bincount(board.net.owner, seen, minlength=board.count) < 2)
    found: BoolArray = long & ~(np.bincount(line[single], minlength=board.count) > 0)[line]
    return found


def _lines(lined: LinedUp, who: IntArray) -> list[IntArray]:
    """Some unknowns line by line: rivals may join several lines to one component."""
    who = who[np.argsort(lined.line[who], kind="stable")]
    return np.split(who, np.flatnonzero(np.diff(lined.line[who])) + 1) if len(who) else []


def _dealt(found: WeighedBoard, who: IntArray) -> None:
    """The exact shares of a component that is one group with the same candidates for all."""
    net = found.board.net
    cells = ranges(net.cell_start[who], net.cell_start[who + 1])
    rows = net.need[net.slot[net.slot_start[cells]]]
    if rows.reshape(len(who), -1)[0].sum() != len(who):  # knowledge that contradicts itself teaches nothing
        return
    found.counted[who] = True
    found.probability[cells] = rows / len(who)
    found.seen[cells], found.impossible[cells] = rows > 0, rows == 0


def _walkers(parts: list[IntArray]) -> Walkers:
    """The unknowns of some components, with as many chains as are needed to learn how long they are."""
    size = np.array([len(part) for part in parts], dtype=np.int64)
    who = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return Walkers(who, np.append(0, np.cumsum(size)), np.minimum(size, _PILOT))


def _watch(found: WeighedBoard, seed: int, rounds: int) -> None:
    """See which cells worlds hold that are reached by moves, for as long as a good many are new.

    The first moves also tell how many unknowns a chain meets: a sweep is to meet each about once.
    """
    board, before = found.board, 0
    shares = np.zeros(board.cells)
    met, moved = found.sweep(found.moved, 1, seed, shares)
    found.walkers = _paced(found.walkers, met, 1)
    found.travellers = _paced(found.travellers, moved, _LONGEST)
    for around in range(1, rounds + 1):
        found.sweep(found.moved, _WARM_UP, seed + around, shares)
        found.seen |= shares > 0
        seen = int(np.count_nonzero(found.seen))
        if seen - before < _FEW * seen:
            break
        before = seen


def _paced(walkers: Walkers, met: IntArray, longest: int) -> Walkers:
    """So many moves a sweep that each unknown is met about once, and at most `longest` for each where few succeed."""
    size = np.diff(walkers.start)
    needed = size * walkers.chains // np.maximum(met, 1)
    return walkers._replace(chains=np.maximum(np.minimum(needed, longest * size), _LEAST))


def _counted(found: WeighedBoard, state: object, who: IntArray, budget: Budget) -> bool:
    """Count the worlds of one component; whether that was possible."""
    net = found.board.net
    result, counts, worlds = _count(net, state, who, budget.nodes, -1)
    if result == GAVE_UP:
        return False
    if result == NONE:  # knowledge that contradicts itself teaches nothing
        return True
    cells = ranges(net.cell_start[who], net.cell_start[who + 1])
    found.counted[who] = True
    found.probability[cells] = counts / worlds
    found.seen[cells] = counts > 0
    found.impossible[cells] = counts == 0
    return True


def _parts(board: Board) -> list[IntArray]:
    """The unknowns of every component."""
    part = board.parts()
    order = np.argsort(part, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(part[order])) + 1) if len(order) else []
