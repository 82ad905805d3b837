"""What the heading of a column speaks of, in several languages: a help beside the shape of its values.

Long stems count wherever they stand, since German and Dutch join words; short ones only where a word begins.
"""

from __future__ import annotations

import re
import unicodedata

_IDENTIFIER = re.compile(
    r"(^|[_\W])(id|ids|identifier|patient|person|member|client|customer|user|ssn|mrn|nr)($|[_\W])", re.I
)
_ENDS_WITH_ID = re.compile(r"[a-z](ID|Id|_id|_no|_nr)$|^(id|ssn|mrn|uuid)$")

_ILLNESS = (
    "diagnos diagnoz disease illness sickness condition symptom sintom symptoom disorder syndrom treatment therap "
    "terapi medic medik health pregnan disabilit allerg addict "
    "befund krankheit erkrankung leiden behandlung arznei wirkstoff laborwert schwanger behinderung pflegegrad "
    "maladie patholog patolog traitement grossesse handicap enfermedad padecimiento tratamient farmac embaraz "
    "discapacid malattia trattament gravidanza disabilita doenca tratament gravidez deficiencia ziekte "
    "aandoening behandel geneesmiddel zwanger chorob schorzen rozpoznani objaw leczeni niepelnospraw "
    "sjukdom sygdom nemoc hastalik диагноз болезн заболевани лечени"
)
_MONEY = (
    "salary salaries income earning wage gehalt einkommen verdienst bezuge schulden salaire revenu salario sueldo "
    "ingresos stipendio reddito rendimento salaris inkomen wynagrodzeni zarobk dochod indkomst inkomst зарплат доход"
)
_BELIEF = (
    "religi faith confession konfession godsdienst geloof wyznani glaubens crime offence offense convict straftat "
    "delikt vorstraf infraction condamnation delito reato misdrijf przestepst politic gewerkschaft orientation "
    "религи"
)
_RESULT = "result exam score resultat ergebnis risultat uitslag"
_BEGINS = "drug icd hiv"
_WORDS = (
    "debts? dettes? deudas? debiti? divida lohn loon placa pensja pensje renta renda esito leki? wynik glaube partei "
    "atc mzda maas gelir tani ciaza dlugi? sexuality"
)
_OCCUPATION = (
    "occupation profession beruf tatigkeit metier ocupacio profesio professione occupazione mestiere profiss ocupac "
    "beroep zawod yrke meslek erhverv povolani профессия job"
)

_NAME = (
    "name|names|surname|vorname|nachname|familienname|zuname|nom|prenom|nombre|nombres|apellido|apellidos|nome|cognome|"
    "sobrenome|apelido|naam|voornaam|achternaam|imie|nazwisko|namn|fornamn|efternamn|navn|fornavn|efternavn|etternavn|"
    "jmeno|prijmeni|isim|soyad|soyadi|adsoyad|имя|фамилия|отчество|ф?ио|姓名|氏名|名前|성명|이름|nimi|nev|ho ten"
)
_WHOSE = (
    "first|last|full|given|family|middle|maiden|patient|patients|person|client|customer|user|member|employee|student|"
    "owner|contact|complet|completo|completa|de|del|famille|voller|und|i|and|e|y|et|en"
)
_REACHED = (
    "mobil|mobiltelefon|tlf|gsm|e?mail|mailadresse|correo|courriel|phone|telephone|telefon|telefono|telefone|telefoon|tel|fon|handy|mobile|movil|"
    "cell|cellphone|cellulare|celular|komorka|fax|iban|bic|konto|kontonummer|account|accountnumber|compte|cuenta|conta|"
    "rekening|rekeningnummer|creditcard|kreditkarte|kartennummer|cardnumber|passport|reisepass|ausweis|passeport|"
    "pasaporte|passaporto|paszport|pesel|nif|dni|curp|cpf|bsn|codicefiscale|address|adresse|anschrift|street|strasse|"
    "strassenname|hausnummer|rue|calle|direccion|domicilio|indirizzo|endereco|rua|adres|straat|ulica|kennzeichen|"
    "numberplate|licenseplate|licenceplate|plate|matricula|targa|kenteken|rejestracja|immatriculation|latitude|"
    "longitude|lat|lon|lng|long|latitud|longitud|latitudine|longitudine|breitengrad|langengrad|breedtegraad|lengtegraad|"
    "coordinates|koordinaten|coordonnees|coordenadas|coordinate|gps|url|website|homepage|ip|ipaddress|twitter|"
    "instagram|facebook|photo|foto|remark|remarks|comment|comments|bemerkung|bemerkungen|kommentar|notiz|notizen|"
    "freitext|freetext|remarque|remarques|commentaire|commentaires|observaciones|comentario|comentarios|osservazioni|"
    "commento|observacoes|opmerking|opmerkingen|uwagi|komentarz|телефон|адрес|почта"
)

_LETTERS = str.maketrans(
    {"ß": "ss", "ł": "l", "Ł": "L", "\u0131": "i", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "æ": "ae"}
)
_ORDINARY = re.compile(
    r"\b(?:age|alter|edad|eta|idade|leeftijd|wiek|sex|gender|geschlecht|sexe|sexo|sesso|geslacht|plec|zip|plz|postal|city|town|"
    r"ort|stadt|ville|ciudad|citta|cidade|stad|miasto|country|land|pays|pais|paese|kraj|region|state|year|jahr|annee|ano|"
    r"anno|jaar|rok|date|datum|fecha|data|week|woche|month|monat|group|gruppe|class|status|type|typ|code|value|wert|ward|"
    r"station|clinic|hospital|department|race|marital|education|degree|weight|height|nationality|language)s?\b"
)


def _pattern(anywhere: str, begins: str = "", words: str = "") -> re.Pattern[str]:
    starts = [rf"\b{stem}" for stem in begins.split()]
    return re.compile("|".join([*anywhere.split(), *starts, *(rf"\b{word}\b" for word in words.split())]))


_SENSITIVE = _pattern(f"{_ILLNESS} {_MONEY} {_BELIEF} {_RESULT}", _BEGINS, _WORDS)
_OFTEN_SENSITIVE = _pattern("", _OCCUPATION)
_NAMES = re.compile(
    rf"(?:(?:{_NAME}|{_WHOSE})\s)*(?:{_NAME})(?:\s(?:{_NAME}|{_WHOSE}))*|(?:first|last|full|sur)name"
)
_DIRECT = re.compile(rf"\b(?:{_REACHED})(?:s|nr|no|nummer|number|numero|adresse)?\b")
_ABOUT_IT = re.compile(
    r"\b(?:type|typ|tipo|art|status|kind|count|anzahl|number of|has|score|level|country|land)\b"
)


def words_of(heading: str) -> str:
    """The heading as small letters without accents, a space between its words."""
    apart = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", heading).translate(_LETTERS)
    plain = "".join(c for c in unicodedata.normalize("NFKD", apart) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", plain).lower()))


def names_an_identifier(heading: str) -> bool:
    """Whether a heading speaks of what tells people apart."""
    return bool(_IDENTIFIER.search(heading) or _ENDS_WITH_ID.search(heading))


def names_people(heading: str) -> bool:
    """Whether a heading speaks of names, addresses, numbers or remarks that name people."""
    words = words_of(heading).replace("e mail", "email")
    return bool(_NAMES.fullmatch(words) or (_DIRECT.search(words) and not _ABOUT_IT.search(words)))


def is_private(heading: str) -> bool:
    """Whether a heading speaks of something that nobody may learn of a person: illness, money, belief, a result."""
    return bool(_SENSITIVE.search(words_of(heading)))


def is_occupation(heading: str) -> bool:
    """Whether a heading speaks of an occupation, which is private where nothing else is."""
    return bool(_OFTEN_SENSITIVE.search(words_of(heading)))


def is_known(heading: str) -> bool:
    """Whether a heading is one that tables have: what else is in a first line may be a person."""
    known = (names_an_identifier, names_people, is_private, is_occupation)
    return bool(_ORDINARY.search(words_of(heading))) or any(about(heading) for about in known)
