"""The provider ``lio``: the kernel's own target, through its tree of files.

https://docs.kernel.org/target/tcm_mod_builder.html and the kernel's scripts. No machine of the
tests has this target: it is untested.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import place_of
from fathom._permission import NOTHING
from fathom.errors import InvalidRequestError
from fathom.luns.backing import backing_step
from fathom.luns.request import chap_secret
from fathom.luns.steps import LunError, LunStep

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.luns.request import LunRequest

__all__ = ["Lio"]

_ROOT = Path("/sys/kernel/config/target")
_DEFAULT_PORTAL, _DEFAULT_PORT = "127.0.0.1:3260", 3260


class Lio:
    """Steps in the kernel's tree: store, target, portal, LUN, and the initiator with its map."""

    def __init__(
        self, request: LunRequest, permission: Permission = NOTHING, root: Path = _ROOT
    ) -> None:
        """Set up this request.

        Raises
        ------
        LunError
            If this kernel has no such target.
        InvalidRequestError
            If no initiator is named: the kernel's target knows each by its name.

        """
        if not root.is_dir():
            raise LunError(
                "this kernel has no target of its own (LIO): load target_core_mod and "
                "iscsi_target_mod, and mount configfs; or take --on tgt"
            )
        if request.initiator is None:
            raise InvalidRequestError("--initiator is missing: --on lio knows each by its name")
        self.request = request
        self._permission = permission
        path = os.fspath(Path(request.path).absolute())
        name = f"fathom-{hashlib.sha256(path.encode()).hexdigest()[:12]}"
        kind = "iblock_0" if Path(path).is_block_device() else "fileio_0"
        self._store = root / "core" / kind / name
        self._target = root / "iscsi" / (request.target or "")
        self._group = self._target / "tpgt_1"
        self._portal_folder = self._group / "np" / _with_port(request.portal or _DEFAULT_PORTAL)
        self._lun = self._group / "lun" / f"lun_{request.lun}"
        self._acl = self._group / "acls" / request.initiator
        self._map = self._acl / f"lun_{request.lun}"

    def steps(self, *, is_removal: bool = False) -> list[LunStep]:
        """Return all steps."""
        request = self.request
        others = self._others
        return [
            backing_step(request, lambda: is_removal or self._store.is_dir(), self._permission),
            LunStep(
                f"store {self._store.name}", self._store.is_dir, self._new_store, self._drop_store
            ),
            LunStep(
                f"target {request.target}",
                self._group.is_dir,
                self._new_target,
                self._drop_target,
                why_kept=others,
            ),
            LunStep(f"LUN {request.lun}", self._has_lun, self._new_lun, self._drop_lun),
            LunStep(
                f"portal {self._portal_folder.name}",
                self._portal_folder.is_dir,
                self._portal_folder.mkdir,
                self._drop_portal,
                part="map",
                why_kept=others,
            ),
            LunStep(
                f"access of {request.initiator}",
                self._may_use,
                self._permit,
                self._forbid,
                part="map",
            ),
        ]

    def _others(self) -> str | None:
        others = [one for one in (self._group / "lun").glob("lun_*") if one != self._lun]
        return f"it has other LUNs ({len(others)})" if others else None

    def address(self) -> str:
        """Return the address to measure."""
        where = f"{self._portal_folder.name}/{self.request.target}/{self.request.lun}"
        return f"iscsi://{where}"

    def listed(self) -> list[dict[str, str]]:
        """Return what there is, one row for each LUN."""
        found = sorted((self._target.parent).glob("*/tpgt_*/lun/lun_*"))
        return [
            {"target": one.parents[2].name, "lun": one.name.removeprefix("lun_")} for one in found
        ]

    def _new_store(self) -> None:
        path = Path(self.request.path).absolute()
        told = f"udev_path={path}"
        if self._store.parent.name.startswith("fileio"):
            told = f"fd_dev_name={path},fd_dev_size={path.stat().st_size}"
        self._store.mkdir(parents=True)
        try:
            (self._store / "control").write_text(told)
            (self._store / "enable").write_text("1")
        except OSError:
            self._drop_store()
            raise

    def _drop_store(self) -> None:
        _remove(self._store)

    def _new_target(self) -> None:
        self._group.mkdir(parents=True)
        try:
            # The kernel wants a secret of everybody where nothing is said.
            self._ask_for_secret(self._group)
            (self._group / "enable").write_text("1")
        except OSError:
            self._drop_target()
            raise

    def _ask_for_secret(self, folder: Path) -> None:
        """Say whether who logs in has to prove who it is: to a target, or as one initiator."""
        attribute = folder / "attrib/authentication"
        # One of an initiator's own is there since Linux 5.19.
        if attribute.exists():
            attribute.write_text("0" if self.request.chap_user is None else "1")

    def _drop_target(self) -> None:
        _remove(self._group)
        _remove(self._target)

    def _drop_portal(self) -> None:
        _remove(self._portal_folder)

    def _has_lun(self) -> bool:
        number, target = self.request.lun, self.request.target
        return _leads_to(self._lun, self._store, f"LUN {number} of {target}")

    def _may_use(self) -> bool:
        number, who = self.request.lun, self.request.initiator
        return _leads_to(self._map, self._lun, f"LUN {number} of {who}")

    def _new_lun(self) -> None:
        self._lun.mkdir()
        try:
            (self._lun / "fathom").symlink_to(self._store)
        except OSError:
            self._drop_lun()
            raise

    def _drop_lun(self) -> None:
        (self._lun / "fathom").unlink(missing_ok=True)
        _remove(self._lun)

    def _permit(self) -> None:
        user = self.request.chap_user
        secret = "" if user is None else chap_secret(self.request)
        made: list[Path] = []
        try:
            with suppress(FileExistsError):
                self._acl.mkdir()
                made.append(self._acl)
            self._ask_for_secret(self._acl)
            if user is not None:
                (self._acl / "auth/userid").write_text(user)
                (self._acl / "auth/password").write_text(secret)
            self._map.mkdir()
            made.append(self._map)
            (self._map / "fathom").symlink_to(self._lun)
        except OSError:
            with suppress(OSError):
                for one in reversed(made):
                    _remove(one)
            raise

    def _forbid(self) -> None:
        (self._map / "fathom").unlink(missing_ok=True)
        _remove(self._map)
        # The initiator may use other LUNs of the target.
        if not any(self._acl.glob("lun_*")):
            _remove(self._acl)


def _with_port(portal: str) -> str:
    """Return a portal as the kernel takes it, which knows no port by itself."""
    place = place_of(portal)
    return portal if place is None or place[1] else f"{portal}:{_DEFAULT_PORT}"


def _leads_to(folder: Path, place: Path, what: str) -> bool:
    """Whether a folder of the kernel's tree is there; its link, of any name, leads to ``place``.

    Raises
    ------
    LunError
        If it leads elsewhere: another LUN than is meant would be measured, or written.

    """
    if not folder.is_dir():
        return False
    links = [one.resolve() for one in folder.iterdir() if one.is_symlink()]
    if place.resolve() not in links:
        there = ", ".join(one.name for one in links) or "without anything behind it"
        raise LunError(f"{what} is {there} already: name another --lun or --target")
    return True


def _remove(folder: Path) -> None:
    """Remove a folder of the kernel's tree, which takes what the kernel put into it along."""
    with suppress(FileNotFoundError):
        folder.rmdir()
