"""What lies beside a release for those who read it: three descriptions of the same columns.

`datapackage.json` is a Frictionless Data Package, `codebook.xml` a DDI Codebook 2.5, `dcat.jsonld` a DCAT 3 dataset in
its series. They say what columns mean and which values occur, and nothing that the release and `about.json` do not say.
"""

from __future__ import annotations

from pathlib import Path

from republish.release.codebook.datapackage import data_package
from republish.release.codebook.dcat import dcat
from republish.release.codebook.ddi import ddi
from republish.release.codebook.study import Study

DATA_PACKAGE, DDI, DCAT = "datapackage.json", "codebook.xml", "dcat.jsonld"
CODEBOOK = (DATA_PACKAGE, DDI, DCAT)

__all__ = ["CODEBOOK", "DATA_PACKAGE", "DCAT", "DDI", "Study", "write_codebook"]


def write_codebook(folder: Path, study: Study) -> None:
    """Write the three descriptions of a release beside its tables."""
    for name, text in ((DATA_PACKAGE, data_package(study)), (DDI, ddi(study)), (DCAT, dcat(study))):
        (folder / name).write_text(text, encoding="utf-8")
