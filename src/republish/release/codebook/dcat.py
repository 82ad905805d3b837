"""A release as a DCAT 3 dataset in its series: `dcat.jsonld`.

Addresses are relative to the file: wherever `releases/` is served, they are right, and they say nothing of the machine
that it was made on.
"""

from __future__ import annotations

import json
from typing import Any

from republish.release.codebook.study import DescribedTable, Study

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA = "https://www.iana.org/assignments/media-types/"
_SERIES = "../"


def dcat(study: Study) -> str:
    """The document: the release, the one before it, and the series that they are in."""
    release: dict[str, Any] = {
        "@id": _release(study.number),
        "@type": "dcat:Dataset",
        "dcterms:title": study.own_title,
        "dcterms:description": study.abstract,
        "dcterms:issued": {"@type": "xsd:dateTime", "@value": study.moment},
        "dcterms:identifier": f"release-{study.number:04d}",
        "dcat:version": str(study.number),
        "dcat:inSeries": {"@id": _SERIES},
    }
    if study.number > 1:
        release["dcat:prev"] = {"@id": _release(study.number - 1)}
    series: dict[str, Any] = {
        "@id": _SERIES,
        "@type": "dcat:DatasetSeries",
        "dcterms:title": study.title,
        "dcterms:description": "A changing table that is published again and again, each time as a release.",
        "dcat:first": {"@id": _release(1)},
    }
    if study.contact:
        release["dcat:contactPoint"] = series["dcat:contactPoint"] = _contact(study.contact)
    release["dcat:distribution"] = [one for table in study.tables for one in _distributions(table)]
    document = {"@context": _CONTEXT, "@graph": [release, series]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _release(number: int) -> str:
    return f"{_SERIES}{number:04d}/"


def _contact(contact: str) -> dict[str, Any]:
    found: dict[str, Any] = {"@type": "vcard:Kind", "vcard:fn": contact}
    if "@" in contact and not any(sign.isspace() for sign in contact):
        found["vcard:hasEmail"] = {"@id": f"mailto:{contact}"}
    return found


def _distributions(table: DescribedTable) -> list[dict[str, Any]]:
    files = [*table.files, *([table.twin] if table.twin else [])]
    return [
        {
            "@type": "dcat:Distribution",
            "dcterms:title": file,
            "dcterms:description": table.description,
            "dcat:downloadURL": {"@id": file},
            "dcat:mediaType": {
                "@id": f"{_MEDIA}{'text/csv' if file.endswith('.csv') else 'application/vnd.apache.parquet'}"
            },
        }
        for file in files
    ]
