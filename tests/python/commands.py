"""Run ``fathom`` in a process of its own, which need not load its libraries for each command.

A process that has loaded all of Fathom waits for command lines, and forks for each: what a command
does ends with it, as for any process. Tests of how Fathom starts, or of signals, start ``COMMAND``.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import pickle
import pkgutil
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = [sys.executable, "-c", "from fathom.cli import main; main()"]
_REQUEST_BYTES = 1 << 20


class _Request(NamedTuple):
    """What a process has of its own when it starts, but for its three streams."""

    argv: list[str]
    cwd: str
    environment: dict[str, str]
    umask: int
    before: str


def command(
    *args: str | Path,
    cwd: Path | None = None,
    umask: int | None = None,
    before: str = "",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``fathom`` with no input, and with variables of the environment beside this process's.

    ``before`` is what Python does first in it.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = ["-c", *map(str, args)]
        started = {**os.environ, **(environment or {})}
        mask = _umask() if umask is None else umask
        code = _run(_Request(words, str(cwd or Path.cwd()), started, mask, before), out, err)
        return subprocess.CompletedProcess(words[1:], code, _text(out), _text(err))


def _run(request: _Request, out: IO[bytes], err: IO[bytes]) -> int:
    with Path(os.devnull).open("rb") as nothing:
        streams = [nothing.fileno(), out.fileno(), err.fileno()]
        socket.send_fds(_channel(), [pickle.dumps(request)], streams)
    code = _channel().recv(8)
    assert code, "the process that starts the commands has ended"
    return int.from_bytes(code, "little", signed=True)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@cache
def _channel() -> socket.socket:
    """Start the process that forks for each command; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [sys.executable, __file__, str(theirs.fileno())]
        process = subprocess.Popen(words, pass_fds=[theirs.fileno()])

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _load() -> None:
    """Load all of Fathom, and what its modules load."""
    package = importlib.import_module("fathom")
    for found in pkgutil.walk_packages(package.__path__, "fathom."):
        importlib.import_module(found.name)
    gc.freeze()


def _next(channel: socket.socket) -> None:
    """Return in a new process for each command, with its arguments, streams and environment."""
    while True:
        asked, streams, _flags, _address = socket.recv_fds(channel, _REQUEST_BYTES, 3)
        if not asked:
            os._exit(0)
        child = os.fork()
        if child == 0:
            channel.close()
            _become(pickle.loads(asked), streams)  # noqa: S301 - It comes from the tests.
            return
        for stream in streams:
            os.close(stream)
        _child, status = os.waitpid(child, 0)
        channel.send(os.waitstatus_to_exitcode(status).to_bytes(8, "little", signed=True))


def _become(request: _Request, streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.cwd)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = request.argv
    exec(request.before)  # noqa: S102 - It comes from the tests.


def _code() -> int:
    """Run the command, and return what Python makes of its end."""
    try:
        importlib.import_module("fathom.cli").main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        return 1
    except BaseException:  # noqa: BLE001 - As Python does with what nobody catches.
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End without taking apart what was loaded."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _load()
    _next(socket.socket(fileno=int(sys.argv[1])))
    _end(_code())
