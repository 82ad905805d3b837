"""A release as a DDI Codebook 2.5: `codebook.xml`, with every variable of its tables.

Elements stand in the order of the standard's schema. A delimited file has no columns of characters: `StartPos` is the
place of a variable in the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from republish.release.codebook.study import DescribedTable, Study, Variable

NAMESPACE = "ddi:codebook:2_5"
_NUMERIC = ("integer", "number")
_WIDTH = 20  # of a number that may have decimals; readers take narrower ones for whole
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def ddi(study: Study) -> str:
    """The document: what describes it, the study, each file, and all variables."""
    root = ET.Element("codeBook", {"xmlns": NAMESPACE, "version": "2.5", "xml:lang": "en"})
    _citation(_child(root, "docDscr"), study, f"Codebook of {study.own_title}")
    _study(_child(root, "stdyDscr"), study)
    tables = [table for table in study.tables if not table.aside]
    for number, table in enumerate(tables, start=1):
        _file(_child(root, "fileDscr", ID=f"F{number}"), table)
    described = _child(root, "dataDscr")
    for number, table in enumerate(tables, start=1):
        for place, variable in enumerate(table.variables, start=1):
            _variable(_child(described, "var"), variable, f"F{number}", place)
    for table in study.tables:
        if table.aside:
            other = _child(root, "otherMat", level="file", URI=table.files[0])
            _child(other, "labl", table.name)
            columns = "; ".join(f"{one.name}: {one.description}" for one in table.variables)
            _child(other, "txt", f"{table.description} Columns: {columns}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _citation(parent: ET.Element, study: Study, title: str) -> ET.Element:
    citation = _child(parent, "citation")
    titles = _child(citation, "titlStmt")
    _child(titles, "titl", title)
    production = _child(citation, "prodStmt")
    _child(production, "prodDate", study.moment[:10], date=study.moment[:10])
    _child(production, "software", study.tool)
    return citation


def _study(parent: ET.Element, study: Study) -> None:
    citation = _citation(parent, study, study.own_title)
    if study.contact:
        _child(_child(citation, "distStmt"), "contact", study.contact)
    series = _child(citation, "serStmt")
    _child(series, "serName", study.title, abbr=study.title)
    _child(series, "serInfo", f"Release {study.number} of a series that is published again and again.")
    _child(_child(citation, "verStmt"), "version", str(study.number), date=study.moment[:10])
    info = _child(parent, "stdyInfo")
    _child(info, "abstract", study.abstract)
    _child(_child(info, "sumDscr"), "timePrd", study.moment[:10], event="single", date=study.moment[:10])
    method = _child(parent, "method")
    for promise in study.promises:
        _child(method, "notes", promise, subject="disclosure control")
    use = _child(_child(parent, "dataAccs"), "useStmt")
    if study.contact:
        _child(use, "contact", study.contact)
    _child(use, "citReq", f"{study.own_title}, as of {study.moment[:10]}.")
    _child(use, "conditions", "As agreed with the custodian who handed the release out.")


def _file(parent: ET.Element, table: DescribedTable) -> None:
    text = _child(parent, "fileTxt")
    _child(text, "fileName", table.files[0] if len(table.files) == 1 else table.files[0].partition("/")[0])
    _child(text, "fileCont", table.description)
    _child(text, "fileStrc", type="rectangular")
    size = _child(text, "dimensns")
    if table.rows is not None:
        _child(size, "caseQnty", str(table.rows))
    _child(size, "varQnty", str(len(table.variables)))
    _child(text, "fileType", "Delimited text" if table.is_text else "Parquet", charset="utf-8")
    _child(text, "format", "comma delimited" if table.is_text else "Parquet")
    _child(text, "filePlac", "beside this codebook")
    _child(text, "dataMsng", "An empty cell is a missing value.")


def _variable(element: ET.Element, variable: Variable, file: str, place: int) -> None:
    numeric, discrete = variable.kind in _NUMERIC, variable.kind != "number"
    element.attrib |= {
        "ID": f"{file}_V{place}",
        "name": _clean(variable.name),
        "files": file,
        "intrvl": "discrete" if discrete else "contin",
    }
    width = str(1 if discrete else _WIDTH)
    _child(element, "location", StartPos=str(place), EndPos=str(place), width=width, fileid=file)
    _child(element, "labl", variable.label)
    _child(element, "txt", variable.description)
    for value in _distinct(variable.values):
        category = _child(element, "catgry")
        _child(category, "catValu", value)
        _child(category, "labl", value)
    _child(element, "concept", variable.role)
    form = {"category": "date"} if variable.kind == "date" else {}
    _child(element, "varFormat", type="numeric" if numeric else "character", **form)


def _distinct(values: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(map(_clean, values))


def _clean(text: str) -> str:
    """The text without the characters that no XML may hold."""
    return _ILLEGAL.sub("", text)


def _child(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    child = ET.SubElement(parent, name, {key: _clean(value) for key, value in attributes.items()})
    child.text = None if text is None else _clean(text)
    return child
