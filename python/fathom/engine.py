"""Running a measurement in this process."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from fathom import _fathom
from fathom._events_file import tapped
from fathom._given import each_path, is_request
from fathom._own_stores import own_stores
from fathom._permission import NOTHING, Permission, typed
from fathom._signals import let_through
from fathom.errors import DataFaultError, InvalidRequestError, RunFailedError, RunInterrupted

if TYPE_CHECKING:
    from fathom._given import Paths
    from fathom.request import Request
    from fathom.result import Result

__all__ = ["EventCallback", "explain", "load_of", "parse", "run", "run_kept", "split_words"]

EventCallback = Callable[[str, dict[str, Any]], None]
"""What gets the events of a run: a name and its fields.

``filling`` (target, done_bytes, total_bytes), ``phase_started`` (time_span, phase, planned_ns),
``live`` for each second of load (second, ios, bytes, in_flight, latency_ns_p50, latency_ns_p99,
latency_ns_p999, latency_octaves, targets), ``target_failed`` (target, reason, kind, code) and
``finished`` (time_span). ``latency_octaves`` counts the I/Os by the power of two of their latency
in nanoseconds: ``{17: 40}`` are 40 of 131,072 ns to twice that. ``targets`` has ``target``, ``ios``
and ``bytes`` of each.
"""


def parse(args: str | Sequence[str]) -> Request:
    """Return what DiskSpd arguments ask for, typed and whole; no target is touched.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong, or if some belong to one run and are no part of a request, such
        as ``--protect=`` and ``--overwrite``; the message names each, and what to give instead.

    """
    # 60 ms, of 130 ms that all of `fathom --help` takes.
    from fathom.request import Request  # noqa: PLC0415

    # Called here, so that what is doubtful is told to whoever called this.
    return Request.from_dict(json.loads(_fathom.request_of(split_words(args))))


def load_of(arguments: Sequence[str]) -> Request:
    """Return the load of arguments that are run as they are, for a look at it; it is not run.

    What the arguments say beside the load, such as ``--protect=``, is missing in it.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong; the message names each fault.

    """
    from fathom.request import Request  # noqa: PLC0415

    return Request.from_dict(json.loads(_fathom.load_of(split_words(arguments))))


def explain(
    args: Request | str | Sequence[str],
    *,
    overwrite: bool = False,
    allow_write: Paths = (),
    protect: Paths = (),
    strict: bool = False,
) -> dict[str, Any]:
    """Return what ``run`` would do with these arguments, and whether it would be refused.

    Nothing is created or written. The form is that of ``schema/explain.schema.json``:
    ``would_run``, ``duration_s``, ``files`` and ``targets``, each with the guard's ``verdict``
    (``is_refused``, ``reason``, ``remedy``). It holds for this moment only, so ask again before
    each run of another program that writes.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong, or a target cannot be used.
    RefusedError
        If what is refused is no target, so that no verdict of one tells it: a permission that
        stands where none may, or a journal of verification that would be written over other data.

    """
    asked, allowed, stores = permitted_job(
        args, overwrite=overwrite, allow_write=allow_write, protect=protect, strict=strict
    )
    if isinstance(asked, list):
        # What belongs to the command diskspd alone is refused by ``run``.
        _fathom.check_run_words(asked)
    text = _fathom.explain_job(asked, allowed, stores)
    explanation: dict[str, Any] = json.loads(text)
    return explanation


def run(  # noqa: PLR0913 - Each is a wish of its own.
    args: Request | str | Sequence[str],
    *,
    check: bool = True,
    on_event: EventCallback | None = None,
    overwrite: bool = False,
    allow_write: Paths = (),
    protect: Paths = (),
    strict: bool = False,
) -> Result:
    """Measure as a request or DiskSpd arguments say, and return the result.

    Parameters
    ----------
    args
        A ``Request``, or DiskSpd's arguments without the program's name: a list, or one text that
        is split as a shell does.
        What they allow (``--overwrite``, ``--allow-write=``) is allowed by whoever calls this, for
        this run: take them from no file without a look.
    check
        Raise if the run began and failed, or if verification found wrong data; otherwise return
        the result, which may be partial.
    on_event
        Called with the events of the run, in the thread that called ``run``; what it raises ends
        the run and is raised here.
    overwrite
        Data of other programs on the targets may be lost, as by ``--overwrite``.
    allow_write
        The block devices that may be written, as ``--allow-write=`` names them: one or several.
    protect
        Files, folders with all below them, and devices that must never be written, nor the devices
        that hold them, one or several, which are there; no argument overrides it.
        The stores of results are protected by themselves: those that this process has opened, that
        of ``FATHOM_STORE``, and the one of the user's data folder.
    strict
        Refuse to write where it cannot be seen who else uses a target, as by ``--strict``.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong; nothing was touched.
    RefusedError
        If a target is in use, protected, or holds data that must not be lost, or if a block device
        is not named by ``--allow-write``; nothing was touched.
    RunFailedError
        If the run began and failed, and ``check`` is true.
    DataFaultError
        If verification found wrong data, and ``check`` is true.
    RunInterrupted
        If Ctrl-C ended the run.

    """
    asked, permission = _typed(args, overwrite=overwrite, allow_write=allow_write)
    return run_kept(
        asked, permission, check=check, on_event=on_event, protect=protect, strict=strict
    )


def run_kept(  # noqa: PLR0913 - All but the first two have names.
    arguments: Request | Sequence[str],
    permission: Permission = NOTHING,
    *,
    check: bool = True,
    on_event: EventCallback | None = None,
    protect: Paths = (),
    strict: bool = False,
    known_as: Sequence[str] = (),
) -> Result:
    """Measure as ``run`` does, by arguments wherever they come from: they allow nothing.

    ``known_as`` are the words by which a request is known, for people to read in its result.

    Raises
    ------
    RefusedError
        Also if the arguments have what only ``permission`` may have.

    """
    with let_through():
        text, failures, interruption = _fathom.run_job(
            _asked(arguments, known_as),
            _allowed(permission, protect, strict=strict),
            own_stores(),
            tapped(on_event),
        )
    result = read_result(text)
    if isinstance(interruption, KeyboardInterrupt):
        raise RunInterrupted(result) from interruption
    if interruption is not None:
        raise interruption
    return checked(result, failures) if check else result


def read_result(text: str) -> Result:
    """Return a result that is read."""
    # 15 ms, and the request's 60 ms before it.
    from fathom.result import Result  # noqa: PLC0415

    return Result.from_json(text)


def checked(result: Result, failures: Sequence[str]) -> Result:
    """Return a result, unless it is none without what failed."""
    if result.faulty_blocks:
        words = f"verification found {result.faulty_blocks} faulty blocks"
        raise DataFaultError("; ".join([words, *failures]), result)
    if failures:
        raise RunFailedError("; ".join(failures), result)
    return result


def permitted_job(
    args: Request | str | Sequence[str],
    *,
    overwrite: bool = False,
    allow_write: Paths = (),
    protect: Paths = (),
    strict: bool = False,
) -> tuple[list[str] | tuple[str, str], tuple[bool, list[str], list[str], bool], list[str]]:
    """Return what the engine takes: what is requested, what is allowed, and the own stores."""
    asked, permission = _typed(args, overwrite=overwrite, allow_write=allow_write)
    allowed = _allowed(permission, protect, strict=strict)
    return _asked(asked), allowed, own_stores()


def _allowed(
    permission: Permission, protect: Paths, *, strict: bool
) -> tuple[bool, list[str], list[str], bool]:
    """Return what is allowed and what is protected, as the engine takes it."""
    named = each_path(protect, "protect")
    return permission.overwrite, [*permission.allow_write], named, strict


def _typed(
    args: Request | str | Sequence[str], *, overwrite: bool, allow_write: Paths
) -> tuple[Request | list[str], Permission]:
    """Return what is requested, and the permission that whoever calls this has given with it."""
    given = Permission(overwrite, tuple(each_path(allow_write, "allow_write")))
    if is_request(args):
        return args, given
    words, found = typed(split_words(cast("str | Sequence[str]", args)))
    devices = (*given.allow_write, *found.allow_write)
    return words, Permission(overwrite or found.overwrite, devices)


def _asked(
    args: Request | Sequence[str], known_as: Sequence[str] = ()
) -> list[str] | tuple[str, str]:
    """Return what is requested of the engine: a request with the words that it is known by."""
    if isinstance(args, Sequence):
        return split_words(args)
    # What was run stands in the result whole, also where no words of DiskSpd were typed.
    return args.to_json(), shlex.join(["diskspd", *known_as]) if known_as else "fathom.Request"


def _word(argument: object) -> str:
    word = os.fspath(argument) if isinstance(argument, os.PathLike) else argument
    if not isinstance(word, str):
        raise InvalidRequestError(f"{argument!r} is no argument of a run: each is a text or a Path")
    return word


def split_words(args: str | Sequence[str]) -> list[str]:
    """Return the arguments as words: one text is split as a shell does.

    Raises
    ------
    InvalidRequestError
        If one is no text or no UTF-8, or a quotation has no end.
    TypeError
        If they are neither a text nor a list of words.

    """
    if isinstance(args, bytes) or not isinstance(args, Sequence):
        raise TypeError(
            f"a run is a Request, one text or a list of words, and no {type(args).__name__}"
        )
    try:
        words = shlex.split(args) if isinstance(args, str) else [_word(arg) for arg in args]
    except ValueError as error:
        raise InvalidRequestError(f"the arguments {args!r} cannot be split: {error}") from None
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidRequestError(
                f"{word!a} is no UTF-8: profiles and results are text, so that no such name fits "
                "into them; rename it, or make a link to it"
            ) from None
    return words
