"""Answers as the documentation of ONTAP's REST interface says, errors included; nothing is stored.

https://docs.netapp.com/us-en/ontap-restapi/: collections with ``records``, ``202`` with a job for
what takes its time, and ``error`` with message, code and target. ``fails_at`` names a call that is
refused, with one of the documented answers.
"""

from __future__ import annotations

import json
import ssl
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Ontap"]

_ASYNCHRONOUS = ("/api/storage/aggregates", "/api/storage/volumes", "/api/storage/luns")
_COLLECTIONS = (*_ASYNCHRONOUS, "/api/protocols/san/igroups", "/api/protocols/san/lun-maps")
_TARGET = "iqn.1992-08.com.netapp:sn.19d04b8e94d711e88370005056b48fd2:vs.4"


class Ontap:
    """A controller; ``calls`` are all requests that change something, with their bodies."""

    def __init__(self, certificate: Path) -> None:
        """Listen on a port of this machine, through TLS."""
        self.calls: list[tuple[str, str, Any]] = []
        self.fails_at = ""
        self.page_records = 10_000
        self.fails_in_job = False
        self.jobs: dict[str, dict[str, Any]] = {}
        self.records: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLLECTIONS}
        ontap = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes, the second of which would wait 40 ms for the first.
            disable_nagle_algorithm = True

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, answer = ontap.answer(self.command, self.path, body, self.headers)
                data = json.dumps(answer).encode() if answer is not None else b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _any  # noqa: N815 - As the base has them.

            def log_message(self, *_what: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"localhost:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def names(self, collection: str) -> list[str]:
        """Return what there is."""
        return [one.get("name", "") for one in self.records[collection]]

    def answer(self, method: str, path: str, body: Any, headers: Any) -> tuple[int, Any]:  # noqa: ANN401
        """Return the status and the JSON of an answer."""
        parts = urlsplit(path)
        query = dict(parse_qsl(parts.query))
        if headers.get("Authorization") != "Basic YWRtaW46c2VjcmV0":
            return 401, {"error": {"message": "User is not authorized.", "code": "6691623"}}
        if method == "GET":
            return self._get(parts.path, query)
        self.calls.append((method, parts.path, body))
        if self.fails_at == f"{method} {parts.path}" and not self.fails_in_job:
            return 400, {
                "error": {
                    "message": "The specified size is too large.",
                    "code": "5374874",
                    "target": "space.size",
                }
            }
        return self._post(parts.path, body) if method == "POST" else self._delete(parts.path)

    def _get(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        fixed: dict[str, list[dict[str, Any]]] = {
            "/api/svm/svms": [{"name": "svm1", "uuid": "s1"}],
            "/api/cluster/nodes": [{"name": "node1", "uuid": "n1"}],
            "/api/protocols/san/iscsi/services": [{"enabled": True, "target": {"name": _TARGET}}],
            "/api/network/ip/interfaces": [{"ip": {"address": "192.0.2.7"}, "state": "up"}],
        }
        if path.startswith("/api/cluster/jobs/"):
            return 200, self.jobs[path.rpartition("/")[2]]
        found: list[dict[str, Any]]
        if path in fixed:
            found = fixed[path]
        elif path.endswith("/initiators"):
            group = self._group(path)
            found = [] if group is None else [{"name": one} for one in group["initiators"]]
            found = [one for one in found if query.get("name", one["name"]) == one["name"]]
        else:
            found = [one for one in self.records[path] if self._matches(one, query)]
        at = int(query.get("start.at", 0))
        page = found[at : at + self.page_records]
        links = {}
        if at + len(page) < len(found):
            more = urlencode({**query, "start.at": at + len(page)})
            links = {"_links": {"next": {"href": f"{path}?{more}"}}}
        return 200, {"records": page, "num_records": len(page), **links}

    def _matches(self, record: dict[str, Any], query: dict[str, str]) -> bool:
        for key, wanted in query.items():
            value: Any = record
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if key not in ("fields", "start.at") and value is not None and value != wanted:
                return False
        return True

    def _group(self, path: str) -> dict[str, Any] | None:
        wanted = path.split("/")[5]
        groups = self.records["/api/protocols/san/igroups"]
        return next((one for one in groups if one["uuid"] == wanted), None)

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path.endswith("/initiators"):
            group = self._group(path)
            assert group is not None
            group["initiators"].append(body["name"])
            return 201, {}
        if body.get("name") in self.names(path) and body.get("name"):
            return 409, {"error": {"message": "entry already exists", "code": "1"}}
        record = {**body, "uuid": str(uuid.uuid4()), "initiators": [], "logical_unit_number": 0}
        for name in ("lun", "igroup"):
            if name in record:
                collection = "/api/storage/luns" if name == "lun" else "/api/protocols/san/igroups"
                others = [
                    one for one in self.records[collection] if one["name"] == body[name]["name"]
                ]
                record[name] = {**body[name], "uuid": others[0]["uuid"]}
        return self._job(path, lambda: self.records[path].append(record))

    def _job(self, path: str, do: Any) -> tuple[int, Any]:  # noqa: ANN401
        if path not in _ASYNCHRONOUS:
            do()
            return 201, {}
        number = str(uuid.uuid4())
        self.jobs[number] = {"uuid": number, "state": "success", "code": 0}
        if self.fails_in_job and self.fails_at == f"POST {path}":
            message = "Failed to create the volume on node node1: not enough space."
            self.jobs[number] |= {"state": "failure", "message": message, "code": 918241}
        else:
            do()
        return 202, {"job": {"uuid": number}}

    def _delete(self, path: str) -> tuple[int, Any]:
        parts = [unquote(one) for one in path.split("/")]
        if "initiators" in parts:
            group = self._group(path)
            assert group is not None
            group["initiators"].remove(parts[-1])
            return 200, {}
        base = next(one for one in _COLLECTIONS if path.startswith(f"{one}/"))
        rest = path.removeprefix(f"{base}/").split("/")
        if base.endswith("lun-maps"):
            self.records[base] = [
                one
                for one in self.records[base]
                if [one["lun"]["uuid"], one["igroup"]["uuid"]] != rest
            ]
            return 200, {}
        return self._job(base, lambda: self._forget(base, rest[0]))

    def _forget(self, base: str, number: str) -> None:
        self.records[base] = [one for one in self.records[base] if one["uuid"] != number]
