"""The pages, and the files that draw them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import secrets
import threading
import time
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

import jinja2
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from fathom import _fathom
from fathom._export import write_text
from fathom._finite import json_words
from fathom._tables import rows_of
from fathom.errors import FathomError
from fathom.metrics import METRICS
from fathom.report import (
    ReportError,
    drawing_script,
    figure_data,
    figures_of,
    gather,
    isolated,
    page_content,
    page_file,
    pdf_pages,
)
from fathom.report import picture as drawn_picture
from fathom.report.style import THEMES
from fathom.trends import DEFAULT_METRIC, find_trend, trend_figure
from fathom.units import rate_words
from fathom.web.lookups import experiment_out, findings, run_out, series
from fathom.web.security import client_of, session_cookie
from fathom.web.sessions import Viewer
from fathom.web.state import Served, served_of, viewer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.report import Material
    from fathom.store import StoredRun

__all__ = ["error_page", "prepare", "router"]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_Served = Annotated[Served, Depends(served_of)]
_Id = Annotated[int, Path(ge=1, le=2**53)]
_Word = Annotated[str, Query(max_length=400)]
_PAGE_RUNS = 50
# Drawing takes a CPU for seconds, which what is measured may need.
_drawing = threading.Lock()
_NAVIGATION = (
    ("/", "Now"),
    ("/start", "Start"),
    ("/runs", "Runs"),
    ("/experiments", "Experiments"),
    ("/compare", "Compare"),
    ("/trends", "Trends"),
    ("/findings", "Findings"),
)
_STATIC = {
    "serve.css": "text/css",
    "theme.js": "text/javascript",
    "serve.js": "text/javascript",
    "now.js": "text/javascript",
    "charts.js": "text/javascript",
    "start.js": "text/javascript",
    "run.js": "text/javascript",
}


@cache
def _environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("fathom.web", "pages"),
                jinja2.PackageLoader("fathom.report", "page"),
            ]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters |= {"rate": rate_words, "isolated": isolated}
    return found


def _page(request: Request, name: str, *, status: int = 200, **content: Any) -> HTMLResponse:  # noqa: ANN401
    viewer: Viewer | None = request.scope.get("fathom.viewer")
    path = request.url.path
    here = next((to for to, _ in reversed(_NAVIGATION) if path.startswith(to) and to != "/"), "/")
    text = (
        _environment()
        .get_template(name)
        .render(
            {"version": _fathom.version(), **content},
            navigation=_NAVIGATION,
            here=here,
            viewer=viewer,
            is_local=request.scope["fathom.doors"].settings.is_local,
        )
    )
    return HTMLResponse(text, status)


def error_page(request: Request, status: int, words: str) -> HTMLResponse:
    """Return a page that says what is wrong."""
    return _page(request, "error.html", status=status, title="That did not work", words=words)


@router.get("/")
def now(request: Request, served: _Served, token: str | None = None) -> Response:
    """Show what runs; whoever brings the printed token gets a session, and an address without."""
    if token is not None:
        return _token_session(request, served, token)
    if request.scope.get("fathom.viewer") is None:
        raise HTTPException(401, "log in first")
    here = {one.get("experiment_id") for one in served.hub.told()}
    running = [
        experiment_out(one)
        for one in served.store.experiments.list(limit=_PAGE_RUNS)
        if one.state == "running" and not one.is_abandoned and one.id not in here
    ]
    return _page(request, "now.html", title="Now", elsewhere=running, now=time.time())


def _token_session(request: Request, served: Served, token: str) -> Response:
    doors, address = served.doors, client_of(request.scope)
    wait_s = doors.attempts.wait_s(address)
    if wait_s:
        raise HTTPException(429, "too many wrong tokens", {"retry-after": str(wait_s)})
    if not doors.token or not secrets.compare_digest(token.encode(), doors.token.encode()):
        doors.attempts.fail(address)
        raise HTTPException(401, "the token is not that of this server: see what it printed")
    answer = RedirectResponse("/", 303)
    secret = doors.sessions.begin("local", "measure", is_local=True)
    answer.headers["set-cookie"] = session_cookie(doors.settings, secret)
    return answer


@router.get("/login")
def login_form(request: Request) -> HTMLResponse:
    """Show the form to log in."""
    return _page(request, "login.html", title="Log in", words="")


@router.post("/login")
async def login(request: Request, served: _Served) -> Response:
    """Log in: a new session, whatever the browser had before."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=8)
    name, password = (given.get(one, [""])[0] for one in ("name", "password"))
    return await asyncio.to_thread(_logged_in, request, served, name, password)


def _logged_in(request: Request, served: Served, name: str, password: str) -> Response:
    doors = served.doors
    # A form on another site's page would log somebody in as somebody else.
    if request.headers.get("origin") is None:
        return error_page(request, 403, "the browser did not say from where the form came")
    keys = (f"address {client_of(request.scope)}", f"name {name[:64].lower()}")
    wait_s = doors.attempts.begin(*keys)
    if wait_s:
        words = f"Too many attempts. Try again in {wait_s} s."
        answer: Response = _page(request, "login.html", status=429, title="Log in", words=words)
        answer.headers["retry-after"] = str(wait_s)
        return answer
    user = doors.accounts.user_of(name, password)
    if user is None:
        words = "Name or password are wrong."
        return _page(request, "login.html", status=401, title="Log in", words=words)
    doors.attempts.forgive(*keys)
    answer = RedirectResponse("/", 303)
    secret = doors.sessions.begin(user.name, user.role, proved_by=user.hash)
    answer.headers["set-cookie"] = session_cookie(doors.settings, secret)
    return answer


@router.post("/logout")
async def logout(request: Request, served: _Served) -> Response:
    """Close the session."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=8)
    viewer = viewer_of(request)
    if not secrets.compare_digest(given.get("csrf", [""])[0].encode(), viewer.csrf.encode()):
        raise HTTPException(403, "the form does not carry this session's word (CSRF)")
    settings = served.doors.settings
    for secret in request.cookies.values():
        served.doors.sessions.end(secret)
    answer = RedirectResponse("/login", 303)
    answer.headers["set-cookie"] = session_cookie(settings, "", age_s=0)
    return answer


@router.get("/start")
def start(request: Request) -> HTMLResponse:
    """Show what can be started."""
    from_run = request.query_params.get("run", "")
    return _page(
        request, "start.html", title="Start", from_run=from_run if from_run.isdigit() else ""
    )


@router.get("/runs")
def runs(
    request: Request, served: _Served, label: _Word = "", device: _Word = "", before: _Word = ""
) -> HTMLResponse:
    """Show the runs of the store, page by page."""
    number = int(before) if before.isdecimal() and len(before) < 16 else None  # noqa: PLR2004 - 2^53.
    found = served.store.runs.list(
        label=label or None, device=device or None, before=number, limit=_PAGE_RUNS + 1
    )
    more = found[_PAGE_RUNS - 1].id if len(found) > _PAGE_RUNS else None
    shown = [run_out(one) for one in found[:_PAGE_RUNS]]
    named = {one.run_id: one.name for one in served.store.baselines.list() if one.run_id}
    return _page(
        request, "runs.html", title="Runs", runs=shown, label=label, device=device, more=more,
        named=named,
    )  # fmt: skip


@router.get("/experiments")
def experiments(request: Request, served: _Served, verb: _Word = "") -> HTMLResponse:
    """Show the newest experiments."""
    found = served.store.experiments.list(verb=verb or None, limit=_PAGE_RUNS)
    return _page(
        request,
        "experiments.html",
        title="Experiments",
        experiments=[experiment_out(one) for one in found],
        verb=verb,
    )


@router.get("/runs/{number}")
def run(request: Request, served: _Served, number: _Id) -> HTMLResponse:
    """Show one run as the report does."""
    return _report(request, gather(served.store, [str(number)]), f"/runs/{number}", str(number))


@router.get("/experiments/{number}")
def experiment(request: Request, served: _Served, number: _Id) -> HTMLResponse:
    """Show one experiment as the report does."""
    try:
        material = gather(served.store, [f"e{number}"])
    except ReportError as error:
        # One that has just begun, or was stopped at once, is no fault of whoever opens it.
        one = served.store.experiments.get(number)
        state = "killed" if one.is_abandoned else one.state
        words = f"{one.verb}: {state}; {one.failure or error}"
        return _page(request, "error.html", title=f"Experiment e{number}", words=words)
    return _report(request, material, f"/experiments/{number}", f"e{number}")


def _report(request: Request, material: Material, place: str, reference: str) -> HTMLResponse:
    return _page(
        request,
        "report.html",
        **_content(material),
        title=material.title,
        place=place,
        reference=reference,
    )


def _content(material: Material) -> Any:  # noqa: ANN401 - What a template gets.
    return page_content(material)


@router.get("/compare")
def compare(request: Request, served: _Served, a: _Word = "", b: _Word = "") -> HTMLResponse:
    """Compare two runs or experiments, or ask which."""
    if not a or not b:
        return _page(request, "compare.html", title="Compare", a=a, b=b, content=None)
    material = gather(served.store, [served.reference(a), served.reference(b)])
    content = _content(material)
    return _page(request, "compare.html", **content, title="Compare", a=a, b=b, content=content)


@router.get("/trends")
def trends(request: Request, served: _Served) -> HTMLResponse:
    """Show the series of the store."""
    return _page(request, "trends.html", title="Trends", series=series(served.store))


@router.get("/trends/{number}")
def trend(
    request: Request,
    served: _Served,
    number: _Id,
    metric: _Word = DEFAULT_METRIC,
    baseline: _Word = "",
) -> HTMLResponse:
    """Show one load on one target over time."""
    found = find_trend(served.store, str(number), metric=metric, baseline=baseline or None)
    figure = trend_figure(found)
    names = [one.name for one in served.store.baselines.list()]
    return _page(
        request,
        "trend.html",
        title="Trend",
        trend=found,
        figures=[figure],
        data=figure_data([figure]),
        metrics=METRICS,
        metric=metric,
        baseline=baseline,
        baselines=names,
        number=number,
    )


@router.get("/findings")
def finding_list(request: Request, served: _Served) -> HTMLResponse:
    """Show what to know before the newest figures are believed."""
    return _page(request, "findings.html", title="Findings", findings=findings(served.store))


@router.get("/download/{reference}.{form}")
def download(served: _Served, reference: str, form: str) -> Response:
    """Return a run or an experiment as a file."""
    reference = served.reference(reference)
    if form == "pdf":
        with _drawing:
            content = pdf_pages(gather(served.store, [reference]))
        return _file(content, "application/pdf", f"fathom-{reference}.pdf")
    whole = [served.store.runs.get(one) for one in served.store.baselines.run_ids(reference)]
    if form == "csv":
        return _file(_csv(whole), "text/csv; charset=utf-8", f"fathom-{reference}.csv")
    if form != "json":
        raise HTTPException(404, "there are .csv, .json and .pdf")
    raw = [dict(one.result.raw) for one in whole]
    text = json_words(raw[0] if len(raw) == 1 else raw, indent=None)
    return _file(text.encode(), "application/json", f"fathom-{reference}.json")


def _csv(whole: list[StoredRun]) -> bytes:
    stream = io.StringIO()
    write_text([*rows_of(whole, "runs")], "csv", stream)
    return stream.getvalue().encode()


@router.get("/download/{reference}/{name}.png")
def figure_picture(served: _Served, reference: str, name: str) -> Response:
    """Return the first view of a figure as a picture."""
    found, _ = figures_of(gather(served.store, [served.reference(reference)]))
    figure = next((one for one in found if one.name == name), None)
    if figure is None:
        raise HTTPException(404, "there is no such figure of it")
    with _drawing:
        content = drawn_picture(figure.views[0], "png", comment=figure.title)
    return _file(content, "image/png", f"fathom-{reference}-{figure.name}.png")


def _file(content: bytes, kind: str, name: str) -> Response:
    safe = "".join(one if one.isalnum() or one in "-." else "_" for one in name)
    plain = safe.encode("ascii", "replace").decode()
    headers = {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=kind, headers=headers)


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """Return one of the files that draw the pages; there are no others to be had."""
    found = _static().get(name)
    if found is None:
        raise HTTPException(404, "there is no such file")
    content, kind, tag = found
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def prepare() -> None:
    """Read or make all that draws pages, once, before anybody asks: it may take a while."""
    _static()


@cache
def _static() -> Mapping[str, tuple[bytes, str, str]]:
    place = files("fathom.web").joinpath("static")
    found = {
        name: (place.joinpath(name).read_text(encoding="utf-8"), kind)
        for name, kind in _STATIC.items()
    }
    found["page.css"] = (page_file("page.css"), "text/css")
    found["themes.css"] = (_themes(), "text/css")
    found["columns.js"] = (page_file("columns.js"), "text/javascript")
    found["figures.js"] = (page_file("page.js"), "text/javascript")
    # Without the extra that has it, pages have their tables, and no pictures.
    with suppress(FathomError):
        found["vega.js"] = (drawing_script(), "text/javascript")
    return {
        name: (text.encode(), kind, f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"')
        for name, (text, kind) in found.items()
    }


def _themes() -> str:
    """Return the colours of both themes, as the report's page has them."""
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in THEMES[theme].items())
        + f"color-scheme:{theme};"
        for theme in ("light", "dark")
    )
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )
