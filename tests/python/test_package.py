"""What the package promises to its users."""

from __future__ import annotations

import ast
import pickle
import tomllib
from pathlib import Path

import fathom
from fathom import Result, _fathom

ROOT = Path(__file__).parents[2]
RESULT = Result.from_json((Path(__file__).parent / "fixtures/result.json").read_text())


def test_the_exported_names_are_these() -> None:
    assert fathom.__all__ == sorted(fathom.__all__)
    assert fathom.__all__ == [
        "AssessmentInterrupted",
        "Awaited",
        "DataFaultError",
        "Direction",
        "EventCallback",
        "ExperimentInterrupted",
        "FathomError",
        "Fault",
        "InvalidRequestError",
        "KnownMean",
        "Latency",
        "NotFoundError",
        "Origin",
        "OutstandingIo",
        "RefusedError",
        "Report",
        "ReportError",
        "Request",
        "Result",
        "RunEvent",
        "RunFailedError",
        "RunHandle",
        "RunInterrupted",
        "SteadyWindow",
        "Stop",
        "Store",
        "TargetError",
        "Thread",
        "TimeSpan",
        "Warning_",
        "WriteGrant",
        "__version__",
        "assess",
        "compare",
        "compare_interleaved",
        "explain",
        "merge",
        "parse",
        "prepare",
        "repeat",
        "run",
        "sweep",
        "tune",
        "version",
    ]
    assert all(hasattr(fathom, name) for name in fathom.__all__)


def test_the_version_is_that_of_the_workspace() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert fathom.__version__ == manifest["workspace"]["package"]["version"]


def test_every_error_has_one_base() -> None:
    errors = (fathom.InvalidRequestError, fathom.RefusedError, fathom.RunFailedError)
    assert all(issubclass(error, fathom.FathomError) for error in errors)
    assert issubclass(fathom.DataFaultError, fathom.RunFailedError)
    assert issubclass(fathom.NotFoundError, fathom.FathomError)
    assert issubclass(fathom.ReportError, fathom.FathomError)


def test_an_interruption_is_no_error() -> None:
    assert issubclass(fathom.RunInterrupted, KeyboardInterrupt)
    assert issubclass(fathom.AssessmentInterrupted, fathom.ExperimentInterrupted)
    assert not issubclass(fathom.RunInterrupted, fathom.FathomError)


def test_errors_pass_between_processes() -> None:
    errors = (
        fathom.FathomError("words"),
        fathom.InvalidRequestError("words"),
        fathom.RefusedError("words"),
        fathom.RunFailedError("words", RESULT),
        fathom.RunInterrupted(RESULT),
    )
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - Made in the line itself.
        assert (type(copy), str(copy)) == (type(error), str(error))
        assert getattr(copy, "result", None) == getattr(error, "result", None)


def test_the_stub_declares_what_the_native_module_has() -> None:
    stub = ast.parse((ROOT / "python/fathom/_fathom.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert declared == {name for name in vars(_fathom) if not name.startswith("__")}
