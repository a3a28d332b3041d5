"""Of which cells an assessment concludes nothing, as their numbers are not a device's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._claims import FORBIDDING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["barred_keys", "is_forbidden"]

_BOTH = frozenset({"reads", "writes"})
# What may be set for one direction alone.
_LIMIT = "io-limited"
_ALL_PERCENT = 100


def barred_keys(target: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of the measured cells of which the assessment concluded nothing.

    An outcome says that of each cell; where an older one does not, it follows from what was found,
    and of loads of which direction.
    """
    done = [one for one in target["cells"] if one.get("figures") is not None]
    if all("forbidden_by" in one for one in done):
        return frozenset(one["key"] for one in done if one["forbidden_by"])
    if not is_forbidden(target["findings"]):
        return frozenset()
    rules = {one["rule"] for one in target["findings"] if _forbids(one)}
    barred = _limited(done) if rules == {_LIMIT} else _BOTH
    return frozenset(one["key"] for one in done if _directions(one) & barred)


def is_forbidden(findings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether findings surely say of any numbers that they are not a device's."""
    return any(_forbids(one) for one in findings)


def _forbids(finding: Mapping[str, Any]) -> bool:
    return finding["rule"] in FORBIDDING and finding["confidence"] != "possible"


def _limited(cells: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return in which directions a limit was met: by loads of one alone, where it was by any."""
    met = [_directions(one) for one in cells if _LIMIT in one.get("findings", ())]
    alone = [one for one in met if len(one) == 1]
    return frozenset().union(*alone) or _BOTH


def _directions(cell: Mapping[str, Any]) -> frozenset[str]:
    written = (cell.get("parameters") or {}).get("write_percent")
    if written is None:
        return _BOTH
    pure = frozenset({"writes"}) if written == _ALL_PERCENT else frozenset({"reads"})
    return pure if written in (0, _ALL_PERCENT) else _BOTH
