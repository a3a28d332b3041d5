"""The application: pages, API and metrics behind the checks of ``security``."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from fathom import _fathom
from fathom.errors import FathomError, InvalidRequestError, RefusedError
from fathom.report import ReportError
from fathom.store.errors import BadNameError, NotFoundError
from fathom.web import api, pages
from fathom.web.accounts import Accounts
from fathom.web.asking import Explanations
from fathom.web.live import Hub
from fathom.web.metrics import CONTENT_TYPE, metrics
from fathom.web.processes import NoProcessError, ProcessError, Processes
from fathom.web.security import Doors, Guarded
from fathom.web.sessions import Attempts, Sessions
from fathom.web.state import Served, served_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fathom.store import Store
    from fathom.web.settings import Settings

__all__ = ["make_app", "openapi"]

_TOKEN_BYTES = 32
_STATUS: dict[type[Exception], int] = {
    NotFoundError: 404,
    NoProcessError: 404,
    BadNameError: 422,
    InvalidRequestError: 422,
    ReportError: 422,
    RefusedError: 409,
    ProcessError: 409,
}


def make_app(settings: Settings, store: Store) -> tuple[Guarded, Served]:
    """Return the application for a server, and what it has open."""
    accounts = Accounts(settings.folder)
    token = secrets.token_urlsafe(_TOKEN_BYTES) if settings.is_local else ""
    doors = Doors(settings, accounts, Sessions(), Attempts(), token)
    processes = Processes(settings.folder, settings.store)
    served = Served(store, processes, Explanations(settings.store), Hub(processes), doors)
    app = _routes(served)
    served.guarded = Guarded(app, doors)
    return served.guarded, served


def openapi() -> dict[str, object]:
    """Return the description of the API, for generators of clients."""
    return _bare().openapi()


def _bare(**more: object) -> FastAPI:
    app = FastAPI(
        title="Fathom",
        version=_fathom.version(),
        description="Measures storage, and shows what was measured.",
        openapi_url="/api/v1/openapi.json",
        # Clients that are generated name their functions so.
        generate_unique_id_function=lambda route: route.name,
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        **more,  # type: ignore[arg-type]
    )
    app.include_router(api.router)
    return app


def _routes(served: Served) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        served.loop = asyncio.get_running_loop()
        await served.hub.start()
        yield
        await served.hub.stop()

    app = _bare(lifespan=lifespan)
    app.state.served = served
    app.include_router(pages.router)
    app.add_api_route("/metrics", _metrics, include_in_schema=False)
    app.add_exception_handler(FathomError, _told)
    app.add_exception_handler(HTTPException, _http_told)
    app.add_exception_handler(RequestValidationError, _invalid_told)
    return app


def _metrics(request: Request) -> Response:
    return Response(metrics(served_of(request)), headers={"content-type": CONTENT_TYPE})


async def _told(request: Request, error: Exception) -> Response:
    """Say what is wrong: as a page to people, as JSON to programs."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return _answer(request, status, str(error))


async def _http_told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - It is registered for that kind.
    answer = _answer(request, error.status_code, str(error.detail))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def _invalid_told(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - It is registered for that kind.
    words = "; ".join(
        f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()
    )
    return _answer(request, 422, words)


def _answer(request: Request, status: int, words: str) -> Response:
    is_page = not request.url.path.startswith("/api/") and request.method == "GET"
    if is_page and "text/html" in request.headers.get("accept", ""):
        return pages.error_page(request, status, words)
    return JSONResponse({"detail": words}, status)
