"""Our own JSON, so that results move between machines and stores.

Two forms: a result as ``diskspd -Rjson`` and ``fathom run --json`` print it (the schema is
``schema/result.schema.json``), and runs as ``fathom show --json`` and ``fathom export --table
whole`` print them: a result with what the store knows besides. Several are a list.

Nothing is converted: the JSON that was measured is what the store keeps, whole histograms included.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from fathom._nesting import is_nested_too_deep
from fathom._text import json_of
from fathom.imported.errors import ImportFormatError
from fathom.imported.model import ImportedResult, OwnRun, Reading
from fathom.result import SCHEMA_VERSION, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["looks_like_own_json", "parsed_json", "read_own_json"]

# What stands at the beginning of each form, whatever the spaces.
_BEGINNING = re.compile(
    r'(?:\[\s*)?\{\s*(?:"schema_version"\s*:|"summary"\s*:|"id"\s*:\s*\d+\s*,\s*"uid"\s*:)'
)
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
_TOO_DEEP = "its JSON is nested too deep to be a result"
_LIST_TABLE = "result_schema_version"


def looks_like_own_json(text: str) -> bool:
    """Whether a text begins as one of our own forms does."""
    return _BEGINNING.match(text.lstrip()) is not None


def read_own_json(data: bytes) -> Reading:
    """Return all runs of a file.

    Raises
    ------
    ImportFormatError
        If it is cut off, damaged, of another version, or a list of runs without their results.

    """
    documents = parsed_json(data.decode("utf-8", "replace"))
    several = documents if isinstance(documents, list) else [documents]
    if not several:
        raise ImportFormatError("it is an empty list: there is no run in it")
    return Reading((), own=tuple(_run(one, at) for at, one in enumerate(several, start=1)))


def parsed_json(text: str) -> Any:  # noqa: ANN401 - JSON may be anything.
    """Return a parsed document, or say where it ends or breaks."""
    try:
        document = json_of(text.removeprefix("\ufeff"), parse_constant=_no_number)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text[error.pos :].startswith(("{", "Command Line:")):
            raise ImportFormatError(
                f"another result follows in line {error.lineno}; nothing of it was imported: give "
                "each result a file of its own"
            ) from error
        is_cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        how = "it is cut off in" if is_cut else "its JSON is damaged in"
        raise ImportFormatError(
            f"{how} line {error.lineno}, column {error.colno}: {error.msg}; nothing of it was "
            "imported: copy or export it once more"
        ) from error
    except RecursionError as error:
        raise ImportFormatError(_TOO_DEEP) from error
    except ValueError as error:
        # Python reads no number of more than some thousand digits.
        raise ImportFormatError(f"its JSON is damaged: {error}") from error
    if is_nested_too_deep(document):
        raise ImportFormatError(_TOO_DEEP)
    return document


def _no_number(word: str) -> NoReturn:
    raise ImportFormatError(f"it has {word}, which is no number of JSON: it is damaged")


def _run(document: object, at: int) -> OwnRun:
    if not isinstance(document, dict):
        raise ImportFormatError(f"its entry {at} is no result of Fathom")
    if "summary" not in document and _LIST_TABLE in document:
        raise ImportFormatError(
            "it has the summary columns of runs without their results: export them with "
            "fathom export --table whole --format json"
        )
    try:
        return _stored(document) if "summary" in document else OwnRun(_measured(document))
    except _WRONG as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else f"{error}"
        raise ImportFormatError(
            f"its entry {at} is no whole result of Fathom: {what}; nothing of it was imported"
        ) from error


def _stored(document: Mapping[str, Any]) -> OwnRun:
    summary = document["summary"]
    imported = document.get("imported")
    return OwnRun(
        result=_measured(document["result"])
        if imported is None
        else ImportedResult.from_dict(imported),
        label=_text(summary["label"]),
        uid=_text(summary["uid"]),
        arguments=tuple(_text(one) for one in document["arguments"]),
        failure=_text(summary["failure"] or "") if summary["outcome"] == "failed" else None,
        memory_bytes=summary.get("memory_bytes"),
        targets=tuple({**target} for target in document["targets"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} stands where a text should")
    return value


def _measured(raw: Mapping[str, Any]) -> Result:
    for histogram in _histograms(raw) if raw.get("schema_version") == SCHEMA_VERSION else ():
        told, counts = histogram["count"], histogram["bucket_counts"]
        if sum(counts) != told or len(counts) != len(histogram["bucket_lower_ns"]):
            raise ValueError(f"a histogram tells {told} I/Os and has {sum(counts)}")
    return Result.from_json(json.dumps(raw))


def _histograms(raw: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for span in raw["time_spans"]:
        for thread in span["threads"]:
            for target in thread["targets"]:
                parts = [target[kind] for kind in ("read", "write")]
                parts += [target[kind] for kind in ("sync", "trim") if target.get(kind)]
                for part in parts:
                    yield from (part[one] for one in ("latency", "response") if part.get(one))
