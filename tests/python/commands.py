"""Run ``fathom`` in a process of its own, which need not load its libraries for each command.

A process that has loaded all of Fathom waits for command lines, and forks for each: what a command
does ends with it, as for any process. Tests of how Fathom starts start ``COMMAND``. For tests that
run the commands of a shell, or send signals, ``fathom_in`` puts a ``fathom`` into a folder; and
``forked`` starts one that goes on beside the test.
"""

from __future__ import annotations

import atexit
import fcntl
import importlib
import marshal
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMMAND = [sys.executable, "-c", "from fathom.__main__ import main; main()"]
# Ends each run of a command early, for tests in which it does not matter how long runs are; the
# fixture ``short_runs`` does so with those of this process.
SHORT_RUNS = """
from fathom import _fathom
def short(asked, *rest, run_job=_fathom.run_job):
    return run_job(asked if isinstance(asked, tuple) else ["--stop-ios=1000", *asked], *rest)
_fathom.run_job = short
"""
_REQUEST_BYTES = 1 << 20
# What is imported when it is first used, and most commands need.
_LATER = (
    "alembic.command",
    "alembic.config",
    "platformdirs",
    "scipy.optimize",
    "sqlalchemy.dialects.sqlite",
)
# Stands for a request, and comes with a socket on which other requests will come.
_LISTEN = b"listen"
_REQUESTS = ".requests"
# Who starts these ends them, by whatever signal: they are processes that a shell starts.
_SERVING = ("serve", "fleet")
# It loads next to nothing, and hands on all that a process has of its own.
_PROGRAM = """#!{python} -ISE
import marshal, os, sys, _signal, _socket
if sys.argv[1:] and sys.argv[1] in {serving}:
    os.execv({python!r}, [*{command}, *sys.argv[1:]])
os.umask(mask := os.umask(0))
asked = marshal.dumps((sys.argv, os.getcwd(), dict(os.environ), mask, {before!r}))
channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
channel.connect({address!r})
streams = b"".join(one.to_bytes(4, sys.byteorder) for one in (0, 1, 2))
channel.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
child = int.from_bytes(channel.recv(8), "little")
for one in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(one, lambda number, _frame: os.kill(child, number))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
# One that was killed says nothing.
os._exit(channel.recv(1)[0] if channel.recv(1, _socket.MSG_PEEK) else 255)
"""


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
    return _completed([*map(str, args)], cwd, umask, before, environment)


def script(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python's that uses Fathom; what it is warned of ends it."""
    strict = "import warnings; warnings.simplefilter('error')"
    return _completed([], None, None, f"{strict}\n{code}\nraise SystemExit", None)


def _completed(
    args: list[str],
    cwd: Path | None,
    umask: int | None,
    before: str,
    environment: Mapping[str, str] | None,
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = ["-c", *args]
        started = {**os.environ, **(environment or {})}
        mask = _umask() if umask is None else umask
        code = _run(_Request(words, str(cwd or Path.cwd()), started, mask, before), out, err)
        return subprocess.CompletedProcess(words[1:], code, _text(out), _text(err))


def _run(request: _Request, out: IO[bytes], err: IO[bytes]) -> int:
    with Path(os.devnull).open("rb") as nothing:
        streams = [nothing.fileno(), out.fileno(), err.fileno()]
        socket.send_fds(_channel(), [marshal.dumps(tuple(request))], streams)
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


class Forked:
    """A command that goes on beside the test."""

    def __init__(self, channel: socket.socket) -> None:
        """Take what was sent the request."""
        self._channel = channel
        self.pid = int.from_bytes(channel.recv(8), "little")

    def end(self, number: int = signal.SIGTERM, most_s: float = 30) -> None:
        """Send it a signal and wait for its end, unless it was ended."""
        if self._channel.fileno() < 0:
            return
        with self._channel, suppress(ProcessLookupError):
            self._channel.settimeout(most_s)
            os.kill(self.pid, number)
            self._channel.recv(1)


def forked(
    *args: str, out: int, cwd: Path, environment: Mapping[str, str], before: str = ""
) -> Forked:
    """Start a ``fathom`` with no input that writes there, and goes on beside the test."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(str(program().parent / _REQUESTS))
    started = {**os.environ, **environment}
    request = _Request(["fathom", *args], str(cwd), started, _umask(), before)
    with Path(os.devnull).open("rb") as nothing:
        socket.send_fds(channel, [marshal.dumps(tuple(request))], [nothing.fileno(), out, 2])
    return Forked(channel)


@cache
def program(before: str = "") -> Path:
    """Return a ``fathom`` that is forked, in which Python does this first."""
    folder = Path(tempfile.mkdtemp(prefix="fathom-forked-"))
    atexit.register(shutil.rmtree, folder)
    fathom_in(folder, before)
    return folder / "fathom"


def fathom_in(folder: Path, before: str = "") -> None:
    """Put a ``fathom`` into a folder, which is forked as those above until this process ends.

    ``before`` is what Python does first in it.
    """
    address = folder / _REQUESTS
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(address))
        listener.listen()
        socket.send_fds(_channel(), [_LISTEN], [listener.fileno(), _lifeline().fileno()])
    program = folder / "fathom"
    filled = {"python": sys.executable, "serving": _SERVING, "command": COMMAND, "before": before}
    program.write_text(_PROGRAM.format(address=str(address), **filled))
    program.chmod(0o755)


def started(
    *args: str | Path, before: str = "", **more: IO[str] | int | None
) -> subprocess.Popen[str]:
    """Start ``fathom`` and do not wait for its end; signals are handed on to it.

    For what ends itself at once, start ``COMMAND``: this does not learn how the other one ended.
    """
    return subprocess.Popen([program(before), *args], text=True, **more)  # type: ignore[call-overload,no-any-return]


@cache
def _lifeline() -> socket.socket:
    """Return a socket whose other end is closed once this process has ended."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        atexit.register(end.close)
    return theirs


def _load() -> None:
    """Load all of Fathom, and what its modules load."""
    package = importlib.import_module("fathom")
    for found in pkgutil.walk_packages(package.__path__, "fathom."):
        importlib.import_module(found.name)
    for name in _LATER:
        importlib.import_module(name)
    haste = importlib.import_module("haste")
    haste.leave_out_flushes()
    haste.collect_rarely()


def _next(channel: socket.socket) -> Callable[[int], None]:
    """Return in a new process for each command, with its arguments, streams and environment.

    What is returned tells whoever waits for it its exit code.
    """
    while True:
        asked, streams, _flags, _address = socket.recv_fds(channel, _REQUEST_BYTES, 3)
        if not asked:
            os._exit(0)
        child = os.fork()
        if child == 0:
            channel.close()
            if asked == _LISTEN:
                return _next_of_shells(*(socket.socket(fileno=one) for one in streams))
            _become(asked, streams)
            return lambda _code: None
        for stream in streams:
            os.close(stream)
        if asked != _LISTEN:
            _child, status = os.waitpid(child, 0)
            channel.send(os.waitstatus_to_exitcode(status).to_bytes(8, "little", signed=True))


def _next_of_shells(listener: socket.socket, lifeline: socket.socket) -> Callable[[int], None]:
    """Return in a new process for each command of a shell: several may run at a time."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, lifeline], [], [])
        if lifeline in ready:
            os._exit(0)
        channel, _address = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asked, streams, _flags, _address = socket.recv_fds(channel, _REQUEST_BYTES, 3)
            listener.close()
            lifeline.close()
            # Until the command knows how to end, as in a process that begins with it blocked.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                channel.send(os.getpid().to_bytes(8, "little"))
            except BrokenPipeError:  # Who asked was ended meanwhile.
                os._exit(0)
            _end_with(channel)
            _become(asked, streams)
            return lambda code: _tell(channel, code)
        channel.close()


def _end_with(channel: socket.socket) -> None:
    """Have this process killed once who asked for it is gone: a signal may have killed that."""
    fcntl.fcntl(channel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(channel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(channel, fcntl.F_SETFL, fcntl.fcntl(channel, fcntl.F_GETFL) | os.O_ASYNC)


def _tell(channel: socket.socket, code: int) -> None:
    with suppress(BrokenPipeError):
        channel.send(bytes([code & 255]))


def _become(asked: bytes, streams: list[int]) -> None:
    request = _Request(*marshal.loads(asked))  # noqa: S302 - It comes from the tests.
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.cwd)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = request.argv
    exec(request.before, {"__name__": "__main__"})  # noqa: S102 - It comes from the tests.


def _code() -> int:
    """Run the command, and return what Python makes of its end."""
    try:
        importlib.import_module("fathom.__main__").main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        return 1
    except BaseException:  # noqa: BLE001 - As Python does with what nobody catches.
        traceback.print_exc()
        return 1
    return 0


def _end(code: int, tell: Callable[[int], None]) -> NoReturn:
    """End without taking apart what was loaded."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    tell(code)
    os._exit(code)


if __name__ == "__main__":
    _load()
    tells = _next(socket.socket(fileno=int(sys.argv[1])))
    _end(_code(), tells)
