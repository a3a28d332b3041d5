"""``/api/v1``: what the pages do, for programs; OpenAPI documents it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer

from fathom._finite import json_words
from fathom.report import gather
from fathom.trends import DEFAULT_METRIC, find_trend
from fathom.web.live import TooManyViewersError
from fathom.web.lookups import experiment_out, findings, run_out, series, trend_out
from fathom.web.models import (
    BaselineIn,
    BaselineOut,
    ComparisonOut,
    ErrorOut,
    ExperimentOut,
    ExplanationIn,
    ExplanationOut,
    FindingOut,
    ProcessOut,
    RunOut,
    SeriesOut,
    StartIn,
    TargetOut,
    TrendOut,
    WorkloadOut,
)
from fathom.web.processes import ProcessError, Wanted
from fathom.web.sessions import Viewer
from fathom.web.state import Served, served_of, viewer_of
from fathom.web.targets import targets
from fathom.workloads import all_workloads

__all__ = ["router"]

# What the checks before everything else want of a program, for those who read the description.
_bearer = HTTPBearer(auto_error=False, description="A token, as fathom serve prints or adds it.")
_ERRORS = {
    401: "No token, or one that is not known.",
    403: "Whoever asks may only look, or another site's page asks.",
    404: "There is no such thing.",
    409: "It cannot be done now.",
    413: "The request is too large.",
    422: "The request is wrong; nothing was done.",
    429: "Too many wrong tokens.",
    500: "The server or its store has a fault.",
}
router = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(_bearer)],
    responses={code: {"model": ErrorOut, "description": words} for code, words in _ERRORS.items()},
)
_Served = Annotated[Served, Depends(served_of)]
_Viewer = Annotated[Viewer, Depends(viewer_of)]
_Id = Annotated[int, Path(ge=1, le=2**53)]
_Word = Annotated[str | None, Query(max_length=400)]
_Reference = Annotated[str, Query(max_length=400)]
_MOST_RUNS = 500
# Whoever follows a stream is looked at so often.
_KNOWN_S = 1.0


@router.get("/processes", tags=["processes"])
def list_processes(served: _Served) -> list[ProcessOut]:
    """List what was started here, the newest first."""
    return [ProcessOut.model_validate(one) for one in served.hub.told()]


@router.get("/processes/{name}", tags=["processes"])
def get_process(name: str, served: _Served) -> ProcessOut:
    """Return one process with the end of what it printed."""
    found = served.processes.get(name)
    return ProcessOut.model_validate(
        {
            "id": found.id,
            "verb": found.verb,
            "command": found.command,
            "user": found.user,
            "state": found.state,
            "exit_code": found.exit_code,
            "started_at_unix_s": found.started_at_unix_s,
            "ended_at_unix_s": found.ended_at_unix_s,
            **served.hub.figures_now(found).told(),
            "output": found.output(),
            "errors": found.errors(),
        }
    )


@router.post("/explanations", tags=["processes"])
def explain(asked: ExplanationIn, served: _Served, viewer: _Viewer) -> ExplanationOut:
    """Say in words what would be done; nothing is done."""
    wanted = Wanted(asked.verb, tuple(asked.arguments), asked.overwrite, tuple(asked.allow_write))
    made = served.explanations.explain(wanted, viewer.name)
    return ExplanationOut(
        id=made.id,
        command=shlex.join(["fathom", *wanted.words()]),
        text=made.text,
        would_run=made.would_run,
    )


@router.post("/processes", status_code=201, tags=["processes"])
def start(asked: StartIn, served: _Served, viewer: _Viewer) -> ProcessOut:
    """Start what was explained; it goes on if this server ends."""
    explained = served.explanations.take(asked.explanation, viewer.name)
    try:
        begun = served.processes.start(explained.wanted, viewer.name)
    except ProcessError:
        served.explanations.give_back(explained)
        raise
    served.hurry()
    return get_process(begun.id, served)


@router.post("/processes/{name}/stop", status_code=202, tags=["processes"])
def stop(name: str, served: _Served) -> ProcessOut:
    """End a run as Ctrl-C does; what was measured until then is saved."""
    served.processes.stop(name)
    served.hurry()
    return get_process(name, served)


@router.get("/live", tags=["processes"], response_class=StreamingResponse)
async def live(request: Request, served: _Served) -> StreamingResponse:
    """Stream what happens as server-sent events: processes, history, second, beat."""
    if served.hub.is_full:
        raise HTTPException(503, "too many look already; a page that is closed makes room")

    async def stream() -> AsyncIterator[bytes]:
        looked_s = time.monotonic()
        try:
            async for name, content in served.hub.look():
                # While something runs, no beat comes between its seconds.
                if time.monotonic() - looked_s >= _KNOWN_S:
                    if not served.is_still_known(request):
                        return
                    looked_s = time.monotonic()
                yield f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()
        except TooManyViewersError:
            return

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)


@router.get("/runs", tags=["store"])
def list_runs(  # noqa: PLR0913 - Each is a filter of its own.
    served: _Served,
    *,
    label: _Word = None,
    device: _Word = None,
    experiment: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_RUNS)] = 50,
) -> list[RunOut]:
    """List runs, the newest first; those before a number are the next page."""
    found = served.store.runs.list(
        label=label, device=device, experiment_id=experiment, before=before, limit=limit
    )
    return [run_out(one) for one in found]


@router.get("/runs/{number}", tags=["store"])
def get_run(number: _Id, served: _Served) -> RunOut:
    """Return one run."""
    return run_out(served.store.runs.get(number).summary)


@router.get("/runs/{number}/result", tags=["store"])
def get_result(number: _Id, served: _Served) -> Response:
    """Return the whole result, in the form of ``diskspd --json``."""
    text = json_words(dict(served.store.runs.get(number).result.raw), indent=None)
    return Response(text, media_type="application/json")


@router.get("/experiments", tags=["store"])
def list_experiments(
    served: _Served,
    verb: _Word = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_RUNS)] = 50,
) -> list[ExperimentOut]:
    """List experiments, the newest first."""
    return [experiment_out(one) for one in served.store.experiments.list(verb=verb, limit=limit)]


@router.get("/experiments/{number}", tags=["store"])
def get_experiment(number: _Id, served: _Served) -> ExperimentOut:
    """Return one experiment."""
    return experiment_out(served.store.experiments.get(number))


@router.get("/series", tags=["trends"])
def list_series(served: _Served) -> list[SeriesOut]:
    """List loads on targets, that with the newest run first."""
    return series(served.store)


@router.get("/trends/{number}", tags=["trends"])
def get_trend(
    number: _Id, served: _Served, metric: _Reference = DEFAULT_METRIC, baseline: _Word = None
) -> TrendOut:
    """Find where the series of a run changed."""
    found = find_trend(served.store, str(number), metric=metric, baseline=baseline or None)
    return trend_out(found)


@router.get("/comparisons", tags=["store"])
def compare(a: _Reference, b: _Reference, served: _Served) -> ComparisonOut:
    """Say what changed from A to B."""
    material = gather(served.store, [served.reference(a), served.reference(b)])
    return ComparisonOut(sentences=[*material.told], differences=[*material.differences])


@router.get("/findings", tags=["store"])
def list_findings(
    served: _Served, run: Annotated[list[int] | None, Query(max_length=50)] = None
) -> list[FindingOut]:
    """Return the findings of runs, or of the newest ones."""
    return findings(served.store, run or [])


@router.get("/baselines", tags=["store"])
def list_baselines(served: _Served) -> list[BaselineOut]:
    """List the baselines."""
    return [
        BaselineOut(name=one.name, run_id=one.run_id, experiment_id=one.experiment_id)
        for one in served.store.baselines.list()
    ]


@router.put("/baselines/{name}", tags=["store"])
def set_baseline(name: str, asked: BaselineIn, served: _Served) -> BaselineOut:
    """Let a baseline name a run or an experiment."""
    served.store.baselines.set(name, asked.reference)
    made = next(one for one in served.store.baselines.list() if one.name == name)
    return BaselineOut(name=made.name, run_id=made.run_id, experiment_id=made.experiment_id)


@router.get("/targets", tags=["processes"])
def list_targets() -> list[TargetOut]:
    """List devices and folders of this machine, and what the guard says of writing to them."""
    return [TargetOut.model_validate(one._asdict()) for one in targets()]


@router.get("/workloads", tags=["processes"])
def list_workloads() -> list[WorkloadOut]:
    """List the loads by name."""
    return [
        WorkloadOut(name=one.name, title=one.title, description=one.reason)
        for one in all_workloads()
    ]
