"""How likely each candidate is that the equations leave: counted where worlds are few, sampled where they are many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.linear.board import Board, all_alike, interchangeable, ranges
from republish.attacks.linear.lines import LinedUp, lined_up
from republish.attacks.linear.sampling import Walkers, _sweeps
from republish.attacks.linear.search import GAVE_UP, NONE, _count, _search, new_state
from republish.attacks.linear.ways_out import _line_sweeps
from republish.attacks.linear.worlds import first_world
from republish.spatial.threads import side_by_side

_WARM_UP, _UNSETTLED = 10, 0.1
_PILOT, _LEAST = (
    50,
    4,
)  # chains to learn how many unknowns one meets; fewest chains a sweep proposes in a component
_GLANCES = 8  # rounds of watching that mostly give everyone in a long line a second value
_SOME = (
    3  # a sweep tries ways for one in so many unknowns of a line: all exchange values with each other besides
)
_FEW = 0.005  # so small a share of new cells is not worth another round


@dataclass(frozen=True)
class Budget:
    """How hard to try: what takes longer is left open, which is never wrong.

    `nodes` to count the worlds of a component of at most `largest` people, `support` to find a world for one value of
    one person, given up in a component after `patience` failures more than successes (and one more for every eight
    people). Components of at most `thorough` people are searched for every value, larger ones for people seen with one
    only, and after `effort` nodes in all nobody is. `start` to find any world of a component where the true one is not
    given. Everybody whose worlds were not counted is sampled by `chains` of about `moves` moves of one unknown in all,
    but at least `sweeps` over everyone, and a quarter as many to warm up; and twice as many in components where
    somebody has not settled, up to `longer` times as long as these are no more than `most` moves. Worlds are watched
    for up to `rounds` rounds before anybody is searched for.
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
    sweeps: int = 60
    longer: int = 3
    most: int = 10_000_000
    rounds: int = 20


@dataclass
class WeighedBoard:
    """What was found out about a board; its unknowns are `counted`, `sampled`, or neither where no world is known.

    `impossible` are cells that no world holds. `seen` are cells that some world holds: who has two is open for certain.
    `world` is the first one known, `moved` the one that watching and searching ended with. `off` are two standard
    errors of the probability of each that is known least. `walkers` are moved by chains and blocks, `travellers`, who
    are in long lines, by ways out.
    """

    board: Board
    probability: FloatArray
    impossible: BoolArray
    seen: BoolArray
    counted: BoolArray
    sampled: BoolArray
    world: IntArray
    moved: IntArray
    off: FloatArray
    walkers: Walkers = field(default_factory=lambda: _walkers([]))
    travellers: Walkers = field(default_factory=lambda: _walkers([]))
    lined: LinedUp | None = None

    @property
    def unsettled(self) -> BoolArray:
        """The unknowns, rows of nobody left out, with a probability of which two standard errors are more than .1."""
        moving: BoolArray = (self.off > _UNSETTLED) & (self.board.unknown >= 0)
        return moving

    def sample(self, budget: Budget, seed: int) -> None:
        """Put shares of sampled worlds in the place of the probabilities of whoever is `sampled`.

        Every other chain starts at the first world, the true one where it is given, the others where search has ended.
        Components in which somebody is unsettled are sampled on.
        """
        part, among = self.board.parts(), self.sampled
        if not among.any():
            return
        half = max(1, budget.sweeps // 2, budget.moves // (2 * budget.chains * int(among.sum())))
        worlds = [(self.world, self.moved)[chain % 2].copy() for chain in range(budget.chains)]
        side_by_side(
            lambda chain: self.sweep(worlds[chain], half // 2, seed + 3 * chain, np.zeros(self.board.cells)),
            range(budget.chains),
        )
        for longer in range(budget.longer + 1):
            self._drawn(worlds, half << longer, seed + 3 * budget.chains * longer, among)
            among = among & (np.bincount(part[self.unsettled], minlength=len(part)) > 0)[part]
            moves = (4 * half << longer) * budget.chains * int(among.sum())
            if not among.any() or moves > budget.most:
                break

    def _drawn(self, worlds: list[IntArray], half: int, seed: int, among: BoolArray) -> None:
        """Move worlds of some components through twice so many sweeps, and see how far the chains are apart."""
        board, chains, who = self.board, len(worlds), np.flatnonzero(among)
        halves = np.zeros((2, chains, board.cells))

        def walk(chain: int) -> None:
            for part in range(2):
                self.sweep(worlds[chain], half, seed + 3 * chain + part + 1, halves[part, chain], among)

        side_by_side(walk, range(chains))
        cells = ranges(board.net.cell_start[who], board.net.cell_start[who + 1])
        shares = halves[:, :, cells] / half
        self.seen[cells] |= (shares > 0).any(axis=(0, 1))
        self.probability[cells] = self._smoothed(cells, shares.mean(axis=(0, 1)), 2 * chains * half)
        runs = shares.mean(axis=0) if chains > 1 else shares[:, 0]
        self.off[who] = 0.0
        np.maximum.at(self.off, board.net.owner[cells], 2 * runs.std(axis=0, ddof=1) / np.sqrt(len(runs)))

    def sweep(
        self, world: IntArray, sweeps: int, seed: int, counts: FloatArray, among: BoolArray | None = None
    ) -> IntArray:
        """Move a world; how many unknowns chains met in every part of the walkers.

        With unknowns `among` which to move, only in parts of which the first one is among them.
        """
        net, code = self.board.net, self.board.code
        walkers, travellers = (
            part if among is None else part.only(among) for part in (self.walkers, self.travellers)
        )
        if len(travellers.chains):
            assert self.lined is not None
            _line_sweeps(net, code, world, self.lined.ways, travellers, sweeps, seed, counts)
        met = np.zeros(0, dtype=np.int64)
        if len(walkers.chains):
            met = _sweeps(net, code, world, walkers, sweeps, seed, counts)
        return met

    def _smoothed(self, cells: IntArray, shares: FloatArray, worlds: int) -> FloatArray:
        """Shares of so many worlds, with one more for every cell that was ever seen: none of these is impossible.

        Of whom one value alone was seen any other that is not excluded may be seldom, and gets one more too: she is not
        certain of it.
        """
        owner, may = self.board.net.owner[cells], self.seen[cells]
        few = np.bincount(owner, may, minlength=self.board.count) < 2
        may = may | (few[owner] & ~self.impossible[cells])
        more = np.bincount(owner, may, minlength=self.board.count)[owner]
        smoothed: FloatArray = (worlds * shares + may) / (worlds + more)
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
        np.full(board.count, -1, dtype=np.int64),
        np.full(board.count, -1, dtype=np.int64),
        np.zeros(board.count),
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
    found.travellers = found.travellers._replace(chains=np.diff(found.travellers.start) // _SOME + _LEAST)
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
    """See which cells worlds hold that are reached by moves.

    Chains go on for as long as a good many cells are new, lines until everyone was seen with a second value. The first
    moves also tell how many unknowns a chain meets: a sweep is to meet each about once.
    """
    board, before = found.board, 0
    shares = np.zeros(board.cells)
    found.walkers = _paced(found.walkers, found.sweep(found.moved, 1, seed, shares))
    travels = np.zeros(board.count, dtype=np.bool_)
    travels[found.travellers.who] = True
    walks = found.sampled & ~travels
    among = found.sampled
    for around in range(1, rounds + 1):
        found.sweep(found.moved, _WARM_UP, seed + around, shares, among)
        found.seen |= shares > 0
        seen = np.bincount(board.net.owner, found.seen, minlength=board.count).astype(np.int64)
        now = int(seen[walks].sum())
        among = walks & (now - before >= _FEW * now)
        before = now
        if found.lined is not None:
            line = found.lined.line
            alone = np.bincount(line[travels & (seen < 2)], minlength=board.count) > 0
            among = among | travels & alone[line]
        if not among.any():
            break


def _paced(walkers: Walkers, met: IntArray) -> Walkers:
    """So many chains a sweep that each unknown is met about once."""
    size = np.diff(walkers.start)
    needed = size * walkers.chains // np.maximum(met, 1)
    return walkers._replace(chains=np.maximum(np.minimum(needed, size), _LEAST))


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
