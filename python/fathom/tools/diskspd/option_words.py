"""The settings of a run beside its load, in DiskSpd's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom import _fathom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.request import Request

__all__ = ["option_words", "skew_words"]

_SKEW = "--skew="


def option_words(request: Request) -> Sequence[str]:
    """Return the options that stand for the settings, as the engine's table of options has them."""
    return _fathom.option_words(request.to_json())


def skew_words(request: Request) -> str | None:
    """Return the skew such as ``zipf:1.1``, as fio writes it, too; None if there is none."""
    found = (one for one in option_words(request) if one.startswith(_SKEW))
    return next((one.removeprefix(_SKEW) for one in found), None)
