"""Keyed BLAKE2b (RFC 7693) of many short texts at once, bit for bit what `hashlib` makes of each.

To make a hash object a text takes several times as long as the hash. The key is a block of its own before the text and
is compressed once, so a text of up to 128 bytes costs one compression.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from republish.kernels import is_loaded, kernel, threads

__all__ = ["MANY", "KeyedHash", "Texts"]

_Words = NDArray[np.uint64]
MANY = 1 << 17
"""So many texts, or more, are worth a compiled kernel."""
_SOME = 1 << 10  # of one that is loaded anyway

_BLOCK = 128
_START = (
    np.uint64(0x6A09E667F3BCC908),
    np.uint64(0xBB67AE8584CAA73B),
    np.uint64(0x3C6EF372FE94F82B),
    np.uint64(0xA54FF53A5F1D36F1),
    np.uint64(0x510E527FADE682D1),
    np.uint64(0x9B05688C2B3E6C1F),
    np.uint64(0x1F83D9ABFB41BD6B),
    np.uint64(0x5BE0CD19137E2179),
)
_MORE, _LAST = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
_U1, _U8, _U16, _U24, _U32, _U40, _U48, _U63, _U128 = (
    np.uint64(bits) for bits in (1, 8, 16, 24, 32, 40, 48, 63, 128)
)


class Texts(NamedTuple):
    """Texts in UTF-8 one after the other, and where each ends."""

    joined: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the first begins, and each ends."""
        return np.concatenate([np.zeros(1, dtype=np.int64), self.ends])


class KeyedHash(NamedTuple):
    """What `hashlib.blake2b` is given beside a text; `size` is that of the digest in bytes, a multiple of 8."""

    key: bytes
    size: int
    person: bytes

    def digests(self, texts: Texts) -> _Words:
        """The digest of every text in words of 64 bits, least byte first; `[text, word]`."""
        worth = _SOME if is_loaded(_digests) else MANY
        return self.by_kernel(texts) if len(texts.ends) >= worth else self.one_by_one(texts)

    def one_by_one(self, texts: Texts) -> _Words:
        """The digests as `hashlib` makes them."""
        copy = hashlib.blake2b(key=self.key, digest_size=self.size, person=self.person).copy
        raw = texts.joined.tobytes()

        def digest(begin: int, end: int) -> bytes:
            state = copy()
            state.update(raw[begin:end])
            return state.digest()

        found = b"".join(starmap(digest, pairwise(texts.bounds.tolist())))
        return np.frombuffer(found, dtype="<u8").astype(np.uint64).reshape(-1, self.size // 8)

    def by_kernel(self, texts: Texts) -> _Words:
        """The same from a compiled kernel, on all threads."""
        found = np.empty((len(texts.ends), self.size // 8), dtype=np.uint64)
        bounds, state, key = texts.bounds, self._state(), self.key.ljust(_BLOCK, b"\0")
        key_block, joined = np.frombuffer(key, dtype=np.uint8), texts.joined.view()
        joined.flags.writeable = False  # for one compiled kernel, whatever the texts come from

        def work(part: slice) -> None:
            _digests(state, key_block, joined, bounds[part.start : part.stop + 1], found[part])

        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(work, _stretches(len(found), threads())))
        return found

    def _state(self) -> _Words:
        """The state before the first block."""
        block = bytes([self.size, len(self.key), 1, 1]).ljust(48, b"\0") + self.person.ljust(16, b"\0")
        return np.array(_START, dtype=np.uint64) ^ np.frombuffer(block, dtype="<u8").astype(np.uint64)


def _stretches(rows: int, count: int) -> list[slice]:
    """Stretches that together are all rows."""
    return [slice(rows * part // count, rows * (part + 1) // count) for part in range(count)]


@kernel
def _digests(parameters, key_block, joined, bounds, out):  # type: ignore[no-untyped-def]
    """Write the digest of every text; a text that is empty is hashed as the block of the key alone."""
    first = (
        parameters[0],
        parameters[1],
        parameters[2],
        parameters[3],
        parameters[4],
        parameters[5],
        parameters[6],
        parameters[7],
    )
    words = np.zeros(16, dtype=np.uint64)
    _load(words, key_block, 0, _BLOCK)
    empty = _compressed(first, words, _U128, _LAST)
    keyed = _compressed(first, words, _U128, _MORE)
    for text in range(len(out)):
        at, end = bounds[text], bounds[text + 1]
        state, done = keyed, _U128
        while end - at > _BLOCK:
            _load(words, joined, at, at + _BLOCK)
            at += _BLOCK
            done += _U128
            state = _compressed(state, words, done, _MORE)
        if at < end:
            _load(words, joined, at, end)
            state = _compressed(state, words, done + np.uint64(end - at), _LAST)
        else:
            state = empty
        for word in range(out.shape[1]):
            out[text, word] = state[word]


@kernel
def _load(words, joined, begin, end):  # type: ignore[no-untyped-def]
    """Read up to 128 bytes as 16 words, least byte first, zeros after them."""
    words[:] = 0
    for at in range(end - begin):
        words[at >> 3] |= np.uint64(joined[begin + at]) << (_U8 * np.uint64(at & 7))


@kernel
def _compressed(h, m, done, last):  # type: ignore[no-untyped-def]
    """The compression function F: twelve rounds, each with the words of the block in another order."""
    m0, m1, m2, m3, m4, m5, m6, m7 = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]
    m8, m9, ma, mb, mc, md, me, mf = m[8], m[9], m[10], m[11], m[12], m[13], m[14], m[15]
    s = _START
    v = (*h, s[0], s[1], s[2], s[3], s[4] ^ done, s[5], s[6] ^ last, s[7])
    v = _round(v, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, ma, mb, mc, md, me, mf)
    v = _round(v, me, ma, m4, m8, m9, mf, md, m6, m1, mc, m0, m2, mb, m7, m5, m3)
    v = _round(v, mb, m8, mc, m0, m5, m2, mf, md, ma, me, m3, m6, m7, m1, m9, m4)
    v = _round(v, m7, m9, m3, m1, md, mc, mb, me, m2, m6, m5, ma, m4, m0, mf, m8)
    v = _round(v, m9, m0, m5, m7, m2, m4, ma, mf, me, m1, mb, mc, m6, m8, m3, md)
    v = _round(v, m2, mc, m6, ma, m0, mb, m8, m3, m4, md, m7, m5, mf, me, m1, m9)
    v = _round(v, mc, m5, m1, mf, me, md, m4, ma, m0, m7, m6, m3, m9, m2, m8, mb)
    v = _round(v, md, mb, m7, me, mc, m1, m3, m9, m5, m0, mf, m4, m8, m6, m2, ma)
    v = _round(v, m6, mf, me, m9, mb, m3, m0, m8, mc, m2, md, m7, m1, m4, ma, m5)
    v = _round(v, ma, m2, m8, m4, m7, m6, m1, m5, mf, mb, m9, me, m3, mc, md, m0)
    v = _round(v, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, ma, mb, mc, md, me, mf)
    v = _round(v, me, ma, m4, m8, m9, mf, md, m6, m1, mc, m0, m2, mb, m7, m5, m3)
    return (
        h[0] ^ v[0] ^ v[8],
        h[1] ^ v[1] ^ v[9],
        h[2] ^ v[2] ^ v[10],
        h[3] ^ v[3] ^ v[11],
        h[4] ^ v[4] ^ v[12],
        h[5] ^ v[5] ^ v[13],
        h[6] ^ v[6] ^ v[14],
        h[7] ^ v[7] ^ v[15],
    )


@kernel
def _round(v, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf):  # type: ignore[no-untyped-def]
    """Mix the columns of the state, then its diagonals."""
    v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, va, vb, vc, vd, ve, vf = v
    v0, v4, v8, vc = _mixed(v0, v4, v8, vc, x0, x1)
    v1, v5, v9, vd = _mixed(v1, v5, v9, vd, x2, x3)
    v2, v6, va, ve = _mixed(v2, v6, va, ve, x4, x5)
    v3, v7, vb, vf = _mixed(v3, v7, vb, vf, x6, x7)
    v0, v5, va, vf = _mixed(v0, v5, va, vf, x8, x9)
    v1, v6, vb, vc = _mixed(v1, v6, vb, vc, xa, xb)
    v2, v7, v8, vd = _mixed(v2, v7, v8, vd, xc, xd)
    v3, v4, v9, ve = _mixed(v3, v4, v9, ve, xe, xf)
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, va, vb, vc, vd, ve, vf


@kernel
def _mixed(a, b, c, d, x, y):  # type: ignore[no-untyped-def]
    """The mixing function G, its rotations by 32, 24, 16 and 63 bits."""
    a = a + b + x
    d ^= a
    d = (d >> _U32) | (d << _U32)
    c += d
    b ^= c
    b = (b >> _U24) | (b << _U40)
    a = a + b + y
    d ^= a
    d = (d >> _U16) | (d << _U48)
    c += d
    b ^= c
    b = (b >> _U63) | (b << _U1)
    return a, b, c, d
