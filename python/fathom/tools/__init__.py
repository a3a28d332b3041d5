"""Other tools: DiskSpd, fio, Iometer and CrystalDiskMark, one package each.

``read`` turns a tool's results into ours, ``load`` its loads into ours, ``write`` our loads into
its terms, and ``run`` runs it as an experiment's ``Runner``. What the other tool cannot say, or
says differently, is a ``Note``; nothing is dropped without one.

A reader is pure: bytes in, a ``Reading`` out, which has all results of the source and names each
line that no rule knows. It touches no machine and no store.

>>> from fathom.tools.formats import read_source
>>> with open("diskspd.txt", "rb") as source:
...     reading = read_source(source.read())
>>> len(reading.results)
1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.tools.choose import (
        fleet_named,
        fleet_runner,
        foreign_runner,
        names_a_program,
        runner_named,
    )
    from fathom.tools.diskspd.write import to_arguments
    from fathom.tools.diskspd.write_xml import to_xml
    from fathom.tools.fio.job_file import FioJob, job_file, read_fio_arguments, read_job_file
    from fathom.tools.fio.load import FioLoads, from_fio
    from fathom.tools.fio.names import files_of, is_plain
    from fathom.tools.fio.write import to_fio
    from fathom.tools.formats import FORMATS, MAX_BYTES, read_source
    from fathom.tools.iometer.load import IometerLoads, from_iometer, looks_like_icf
    from fathom.tools.iometer.write import iometer_terms
    from fathom.tools.load import Load, read_load
    from fathom.tools.notes import Note, Notes
    from fathom.tools.terms import TERMS, Term, terms_table

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "TERMS",
    "FioJob",
    "FioLoads",
    "IometerLoads",
    "Load",
    "Note",
    "Notes",
    "Term",
    "files_of",
    "fleet_named",
    "fleet_runner",
    "foreign_runner",
    "from_fio",
    "from_iometer",
    "iometer_terms",
    "is_plain",
    "job_file",
    "looks_like_icf",
    "names_a_program",
    "read_fio_arguments",
    "read_job_file",
    "read_load",
    "read_source",
    "runner_named",
    "terms_table",
    "to_arguments",
    "to_fio",
    "to_xml",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
