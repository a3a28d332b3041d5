"""The coordinator and a host as programs, which run until they are ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fathom._fathom import version
from fathom.errors import FathomError
from fathom.fleet.address import host_and_port, in_brackets, listening_place
from fathom.fleet.certificates import certificate_files
from fathom.fleet.channel import OF_ONE_AUTHORITY, Channel, NoAnswerError
from fathom.fleet.comm import security_of
from fathom.fleet.coordinator import coordinator_at
from fathom.fleet.member import ENDED, member_of
from fathom.fleet.restricted import quiet_logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fathom.fleet.certificates import Identity

__all__ = ["serve_coordinator", "serve_host"]

_AGAIN_S = 2.0
_ANSWER_S = 5.0


async def serve_coordinator(
    folder: Path, host: str | None, listen: str | None, say: Callable[[str], None]
) -> None:
    """Be the coordinator.

    Raises
    ------
    FathomError
        If there are no certificates, or nobody can listen there.

    """
    quiet_logs()
    identity = certificate_files(folder, "coordinator", host)
    name, port = host_and_port(listen or in_brackets(identity.host()))
    try:
        coordinator = await coordinator_at(name, port, identity)
    except (OSError, ValueError, RuntimeError) as error:
        words = error.__cause__ or error
        raise FathomError(f"the coordinator cannot listen at {name}:{port}: {words}") from error
    address = coordinator.address.partition("://")[2]
    say(f"coordinator of version {version()} at {address}; a host joins with")
    say(f"  fathom fleet join --tls FOLDER {address}")
    try:
        await coordinator.finished()
    finally:
        await coordinator.close(reason="it was ended")


async def serve_host(
    folder: Path,
    coordinator: str,
    host: str | None,
    listen: str | None,
    say: Callable[[str], None],
) -> None:
    """Be a host; where the coordinator goes, wait for it to be back.

    Raises
    ------
    FathomError
        If there are no certificates, or the coordinator refuses them.

    """
    quiet_logs()
    identity = certificate_files(folder, "worker", host)
    name = identity.host()
    place = None if listen is None else listening_place(listen)
    is_first = True
    while True:
        member = member_of(coordinator, identity, name, place)
        try:
            await _answered(coordinator, identity, say, is_first=is_first)
            await member
            say(f"host {name} of version {version()} has joined {coordinator}")
            is_first = False
            await member.finished()  # type: ignore[no-untyped-call]
            say(f"the coordinator {coordinator} has gone; waiting for it to be back")
        except (OSError, ValueError, RuntimeError, TimeoutError) as error:
            if is_first:
                words = error.__cause__ or error
                if "name taken" in str(words):
                    words = FathomError("a host of this name is in the fleet already")
                where = "" if listen is None else f", listening at {listen},"
                raise FathomError(
                    f"host {name}{where} cannot join {coordinator}: {words or type(words).__name__}"
                ) from error
        finally:
            await member.close(reason=ENDED)
        await asyncio.sleep(_AGAIN_S)


async def _answered(
    coordinator: str, identity: Identity, say: Callable[[str], None], *, is_first: bool
) -> None:
    """Wait until the coordinator answers, and say so; Dask would wait without a word.

    Raises
    ------
    FathomError
        If one end refuses the certificate of the other, where this host has not been there yet.

    """
    has_said = False
    channel = Channel(f"tls://{coordinator}", security_of(identity).get_connection_args("worker"))
    while True:
        try:
            await channel.ask("identity", _ANSWER_S)
        except NoAnswerError as error:
            if is_first and error.is_of_certificates:
                raise FathomError(
                    f"host {identity.host()} cannot join {coordinator}: {error}; {OF_ONE_AUTHORITY}"
                ) from error
            if not has_said:
                say(f"the coordinator {coordinator} gives no answer ({error}); waiting for it")
            has_said = True
            await asyncio.sleep(_AGAIN_S)
        else:
            return
        finally:
            channel.close()
