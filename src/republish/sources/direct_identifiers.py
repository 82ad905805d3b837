"""What names a person by itself, judged by the shape of the values, in whatever language a column is headed.

A column is judged by at most `SAMPLE` of its different values, those with the lowest hashes: a fair sample that parts
of a table find together as well as one process does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import polars as pl

SAMPLE = 4096
FEW_PEOPLE = 50  # up to here, many different values are no surprise
_SEED = 16
_HALF, _NEARLY_ALL = 0.5, 0.9
_PROSE = 40  # mean characters above which values are prose
_RARELY_REPEATED, _FEW_TEXTS = 0.1, 10
_SEVERAL = 4  # mean words from which values are remarks
_SOME = 5  # of fewer values that look like something else, chance may be the cause


class Sampled(NamedTuple):
    """One column: its filled cells, a sample of its different values by `hash`, and how many of all are e-mails."""

    cells: int
    sample: pl.DataFrame
    emails: int = 0

    @classmethod
    def of(cls, different: pl.Series, cells: int) -> Sampled:
        """The sample of a column with these different values, none null, in so many cells."""
        texts = different.cast(pl.String).rename("text")
        frame = pl.DataFrame([texts.hash(_SEED).rename("hash"), texts])
        return cls(cells, frame.bottom_k(SAMPLE, by="hash"), int(texts.str.contains(_EMAIL).sum()))

    @classmethod
    def together(cls, parts: Iterable[Sampled]) -> Sampled:
        """The sample of a column that lies in parts."""
        every = list(parts)
        frames = [part.sample for part in every]
        if not frames:
            return cls.of(pl.Series([], dtype=pl.String), 0)
        both = pl.concat(frames).unique("text")
        emails = sum(part.emails for part in every)
        return cls(sum(part.cells for part in every), both.bottom_k(SAMPLE, by="hash"), emails)

    @property
    def texts(self) -> pl.Series:
        return self.sample["text"]

    @property
    def different(self) -> int:
        """How many different values there are; an estimate, good to some percent, where not all were looked at."""
        if self.sample.height < SAMPLE:
            return self.sample.height
        highest = int(self.sample["hash"].max())  # type: ignore[arg-type]
        return min(self.cells, round((SAMPLE - 1) * 2.0**64 / highest))


def directly_identifying(column: Sampled, sensitive: bool = False) -> str | None:
    """What values of this shape name people by, with their number; nothing where they have no such shape.

    Codes of drugs and illnesses look like many numbers, so that of sensitive values only words are judged.
    """
    texts = column.texts.str.strip_chars()
    if column.emails:
        return f"{column.emails:,} of {column.different:,} different values look like e-mail addresses"
    if not len(texts):
        return None
    for what, recognise, share in _IN_WORDS if sensitive else (*_IN_WORDS, *_IN_NUMBERS):
        found = int(recognise(texts).sum())
        if found >= max(share * len(texts), 1 if len(texts) == found else _SOME):
            return f"{found:,} of {len(texts):,} different values look like {what}"
    if _is_family_names(texts):
        return f"many of {len(texts):,} different values look like {PEOPLE}"
    return None


def is_prose(column: Sampled, rarely_repeated: float = _RARELY_REPEATED) -> bool:
    """Whether values are long texts that are seldom the same."""
    rare = column.different > max(_FEW_TEXTS - 1, rarely_repeated * column.cells)
    return rare and float(column.texts.str.len_chars().mean() or 0.0) > _PROSE  # type: ignore[arg-type]


def is_remarks(column: Sampled) -> bool:
    """Whether values are texts of several words that are seldom the same."""
    rare = column.different > max(_FEW_TEXTS - 1, _RARELY_REPEATED * column.cells)
    words = column.texts.str.count_matches(r"\p{L}{2,}")
    return rare and float(words.mean() or 0.0) >= _SEVERAL  # type: ignore[arg-type]


def is_about_one_a_person(column: Sampled, sensitive: bool = False) -> bool:
    """Whether most people have a value of their own; nearly all, where values are sensitive or codes of places."""
    share = _NEARLY_ALL if sensitive or _are(_CODES, column.texts) else _HALF
    return column.cells > FEW_PEOPLE and column.different > share * column.cells


def is_direct_number(numbers: pl.Series) -> str | None:
    """What numbers of this shape name people by: phones, accounts and cards, or places on the map."""
    if not len(numbers):
        return None
    texts = numbers.cast(pl.String).str.strip_chars()
    long = texts.str.contains(r"^\+?\d{9,19}$") & ~texts.str.ends_with("000")
    if float(long.mean() or 0.0) > _NEARLY_ALL:  # type: ignore[arg-type]
        return "long numbers look like phones, accounts or cards"
    if numbers.n_unique() <= len(numbers) * _HALF:
        return None
    degrees = texts.str.contains(r"^[-+]?(?:1[0-7]\d|\d{1,2})\.\d{4,8}$")
    if float(degrees.mean() or 0.0) > 0.8:  # type: ignore[arg-type]
        return "numbers of 4 decimals and more look like coordinates"
    return None


# Recognisers -----------------------------------------------------------------------------------------

PEOPLE = "names of people"
_EMAIL = r"[^\s@,;<>]+@[^\s@,;<>]+\.\p{L}{2,}"
_URL = r"(?i)^(?:https?|ftp)://\S+|^www\.\S+"
_IP = (
    r"(?i)^(?:(?:25[0-5]|2[0-4]\d|1?[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?[1-9]?\d)$|"
    r"^(?:[0-9a-f]{0,4}:){4,7}[0-9a-f]{0,4}$|^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$|"
    r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$"
)
_ACCOUNT = r"(?i)^[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){2,7}(?:\s?[A-Z0-9]{1,4})?$"
_CARD = r"^(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6\d{3})(?:[ -]?\d{4}){3}$|^3[47]\d\d[ -]?\d{6}[ -]?\d{5}$"
_NATIONAL = (
    r"^\d{3}-\d{2}-\d{4}$|^\d{6,8}[-+]\d{4}$|^\d{8}-?[A-HJ-NP-TV-Z]$|^[XYZ]\d{7}[A-Z]$|^[A-Z]\d{9}$|"
    r"^[A-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]$|^[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]$|^\d{3}\.\d{3}\.\d{3}-\d\d$|"
    r"^[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3}(?: ?\d\d)?$"
)
_PLATE = (
    r"^[A-ZÄÖÜ]{1,3}[- ][A-ZÄÖÜ]{1,2}[- ]?\d{1,4}[EH]?$|^[A-Z]{2}[- ]?\d{3}[- ]?[A-Z]{2}$|"
    r"^[A-Z]{2}\d\d ?[A-Z]{3}$|^\d{4}[ -]?[B-DF-HJ-NP-TV-Z]{3}$|^\d{1,2}-[A-Z]{2,3}-\d{1,2}$|^[A-Z]{3}\d[A-Z]\d{2}$"
)
_COORDINATES = (
    r"^\(?[-+]?\d{1,2}[.]\d{3,}°?\s?[NS]?\s*[,;/ ]\s*[-+]?\d{1,3}[.]\d{3,}°?\s?[EWO]?\)?$|"
    r"^\d{1,3}°\s?\d{1,2}\D|^POINT ?\(|^[-+]?(?:1[0-7]\d|\d{1,2})[.]\d{4,8}°?$"
)
_STREET = (
    r"(?i)(?:str(?:aße|asse|\.)|weg|allee|platz|gasse|ring|damm|straat|laan|gatan|vej|gade|utca)\s+\d+\s?[a-z]?(?:\s*,|$)|"
    r"^\d+[a-z]?,?\s+(?:rue|avenue|boulevard|bd|chemin|place|impasse)\s|"
    r"^\d+[a-z]?\s.*\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|close)\b\.?|"
    r"^(?:calle|c/|avenida|av\.?|avda\.?|plaza|via|viale|piazza|corso|rua|travessa|ul\.|ulica|al\.|os\.)\s.*\d"
)
_DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$"
_SAINT = r"^(?:san|santa|santo|sant|sao|sankt|saint|sainte|st|ste|sveti|szent|port|fort|mount|lake)\b"
_INITIALS = r"^(?:\p{Lu}\.\s?){1,3}\p{Lu}[\p{L}'-]{2,}$|^\p{Lu}[\p{L}'-]{2,},\s?(?:\p{Lu}\.?\s?){1,3}$"
_FAMILY = (
    r"(?:mayer|meyer|meier|berger|hofer|stein|wski|wska|cki|cka|dzki|wicz|czyk|ović|ovic|evic|escu|eanu|oğlu|oglu|"
    r"nguez|ndez|[aeiouylrmn]rez|nez|mez|lez|quez|elli|etti|ucci|opoulos|akis|idis|ssen|nsen|rsen|lsen|tsson|nsson|lsson|"
    r"rsson|enko|chuk)$|^mc[a-z]{3,}$|^o'[a-z]{3,}$"
)
_CODES = (
    r"^\d{3,6}(?:-\d{2,4})?$|^\d{2}-\d{3}$|^\d{4} ?[A-Z]{2}$|^[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}$|"
    r"^[A-Z]\d[A-Z] ?\d[A-Z]\d$"
)


def _are(pattern: str, texts: pl.Series, share: float = _NEARLY_ALL) -> bool:
    found = texts.str.contains(pattern).mean() if len(texts) else 0.0
    return float(found or 0.0) >= share  # type: ignore[arg-type]


def _like(pattern: str) -> Callable[[pl.Series], pl.Series]:
    return lambda texts: texts.str.contains(pattern)


def _phones(texts: pl.Series) -> pl.Series:
    """7 to 15 digits with what marks a phone: a country, an area code, or groups of digits; no date."""
    digits = texts.str.count_matches(r"\d")
    marked = texts.str.contains(
        r"^(?i:tel\.?:?\s*)?(?:\+\d[\d ()/.-]+|00\d[\d ()/.-]{8,}|\(0?\d{2,5}\)[\d /.-]+|0\d{1,5}[ /-][\d /-]+|"
        r"\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}|0\d(?:[ .]\d\d){4}|\d{3}(?:[ -]\d{3}){2}|0\d{9,13})$"
    )
    return marked & digits.is_between(7, 15) & ~texts.str.contains(f"{_DATE}|{_CODES}")


def folded(texts: pl.Series) -> pl.Series:
    """The texts in small letters without accents."""
    return texts.str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()


@cache
def _names() -> tuple[pl.Series, pl.Series]:
    """Common given and family names, folded."""
    text = files("republish.sources").joinpath("people_names.txt").read_text(encoding="utf-8")
    given, family = re.split(r"^family:$", re.split(r"^given:$", text, flags=re.M)[1], flags=re.M)
    return folded(pl.Series(given.split())), folded(pl.Series(family.split()))


def _have_word(texts: pl.Series, words: pl.Series) -> pl.Series:
    """Whether one of up to five words is among these."""
    split = texts.str.extract_all(r"\p{L}+")
    known = split.list.eval(pl.element().is_in(words.implode())).list.any()
    return known & split.list.len().is_between(1, 5)


def _people(texts: pl.Series) -> pl.Series:
    """Whether a text of few words holds a given name, or is one with initials; towns of saints are none."""
    plain = folded(texts)
    found = _have_word(plain, _names()[0]) & ~plain.str.contains(r"\d") & ~plain.str.contains(_SAINT)
    return (found | texts.str.contains(_INITIALS)) & (plain.str.len_chars() <= 60)


def _is_family_names(texts: pl.Series) -> bool:
    """Whether one in four is a common family name, or ends like one."""
    plain = folded(texts)
    single = plain.str.contains(r"^\p{L}[\p{L}'., -]{1,30}$")
    found = single & (_have_word(plain, _names()[1]) | plain.str.contains(_FAMILY))
    return len(texts) >= 2 * _FEW_TEXTS and bool(found.mean() >= 0.25)  # type: ignore[operator]


_Recognisers = tuple[tuple[str, Callable[[pl.Series], pl.Series], float], ...]
_IN_WORDS: _Recognisers = (
    ("web addresses", _like(_URL), _HALF),
    ("addresses of computers", _like(_IP), _HALF),
    ("postal addresses", _like(_STREET), _HALF),
    (PEOPLE, _people, 1 / 3),
)
_IN_NUMBERS: _Recognisers = (
    ("accounts", _like(_ACCOUNT), _HALF),
    ("payment cards", _like(_CARD), _HALF),
    ("coordinates", _like(_COORDINATES), _HALF),
    ("personal numbers of a state", _like(_NATIONAL), _HALF),
    ("phone numbers", _phones, _HALF),
    ("number plates", _like(_PLATE), _HALF),
)
