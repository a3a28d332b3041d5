"""One tool's terms in another's: DiskSpd, fio and Iometer.

What the other tool cannot say, or says differently, is a ``Note``; nothing is dropped without one.
"""

from fathom.translate._fio_file import FioJob, job_file, read_fio_arguments, read_job_file
from fathom.translate._fio_names import files_of, is_plain
from fathom.translate._from_fio import FioLoads, from_fio
from fathom.translate._from_iometer import IometerLoads, from_iometer, looks_like_icf
from fathom.translate._iometer import iometer_terms
from fathom.translate._load import Load, read_load
from fathom.translate._notes import Note, Notes
from fathom.translate._terms import TERMS, Term, terms_table
from fathom.translate._to_arguments import to_arguments
from fathom.translate._to_fio import to_fio
from fathom.translate._to_xml import to_xml

__all__ = [
    "TERMS",
    "FioJob",
    "FioLoads",
    "IometerLoads",
    "Load",
    "Note",
    "Notes",
    "Term",
    "files_of",
    "from_fio",
    "from_iometer",
    "iometer_terms",
    "is_plain",
    "job_file",
    "looks_like_icf",
    "read_fio_arguments",
    "read_job_file",
    "read_load",
    "terms_table",
    "to_arguments",
    "to_fio",
    "to_xml",
]
