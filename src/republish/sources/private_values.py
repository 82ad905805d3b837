"""What nobody may learn of a person, judged by the values themselves: codes and words of illness, words of belief."""

from __future__ import annotations

import polars as pl

from republish.sources.direct_identifiers import folded

_CODE = r"^[A-TV-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?[*+!†]?$|^[A-Z]\d{2}[A-Z]{2}\d{2}$"  # ICD-10, ATC
_EXACT_CODE = r"^[A-TV-Z]\d[0-9A-Z]\.[0-9A-Z]|^[A-Z]\d{2}[A-Z]{2}\d{2}$"  # wards and rooms have no point
_ILLNESS = (
    r"itis\b|itide\b|\p{L}ite\b.*(?:aigu|chroni)|bronchit|bronquit|hepatit|gastrit|arthrit|artrit|dermatit|diabet|asthm|asma\b|"
    r"astma|hyperten|hiperten|nadcisnien|hypoten|carcinom|karzinom|cancer|krebs|cancro|rakovin|nowotw|tumou?r|leuk[ae]?emi|"
    r"influen[zc]a|\bgripp?[eay]\b|grypa|\bflu\b|infarct|infarkt|infarto|zawal|stroke|schlaganfall|pneumon|depress|schizophren|"
    r"esquizofren|anxiety|migr[aä]in|emicrania|epileps|padaczk|\bhiv\b|\baids\b|tubercul|tuberkul|gruzlic|an[ae]e?mi[ae]?\b|anamie|"
    r"insuffi|niewydoln|allerg|alergi|obes|adipos|dement|demenz|alzheimer|parkinson|\bcopd\b|covid|infection|infektion|"
    r"infeccion|infezion|zapaleni|fractur|fraktur|choroba|erkrankung|\bdisease\b|syndrom"
)
_BELIEF = (
    r"catholic|katholi|catholiq|catolic|cattolic|katoli|protestant|evangeli|lutheran|orthodox|ortodox|prawoslaw|muslim|musulman|"
    r"mus[uü]lman|moslem|islam|jewish|judi|judaism|ebre[oi]\b|\bjuif|zydow|buddhis|budis|hindu|sikh|atheis|athee|ateo|ateu|"
    r"ateist|konfessionslos|agnosti"
)
_SHARE, _CODES = 0.4, 0.9


def are_private(different: pl.Series) -> str | None:
    """What the different values of a column speak of, where it is private."""
    texts = different.str.strip_chars()
    if len(texts) < 2:
        return None
    if _share(texts, _CODE) >= _CODES and _share(texts, _EXACT_CODE) >= 0.5:
        return "its values are codes of diagnoses or drugs"
    words = folded(texts)
    if _share(words, _ILLNESS) >= _SHARE:
        return "its values speak of illness"
    if _share(words, _BELIEF) >= _SHARE:
        return "its values speak of belief"
    return None


def _share(texts: pl.Series, pattern: str) -> float:
    return float(texts.str.contains(pattern).mean())  # type: ignore[arg-type]
