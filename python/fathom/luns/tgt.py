"""The provider ``tgt``: Linux SCSI target framework, through tgtadm (tgtadm(8))."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._permission import NOTHING
from fathom._text import without_secrets
from fathom.luns.backing import backing_step
from fathom.luns.request import chap_secret
from fathom.luns.steps import LunError, LunStep

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.luns.request import LunRequest

__all__ = ["Target", "Tgt", "read_targets"]

_TIMEOUT_S = 30
_TARGET = re.compile(r"Target (\d{1,9}): (\S+)")
_PORTAL = re.compile(r"Portal: (\S+),\d+")
_ANY = "ALL"
_DEFAULT_PORTAL = "127.0.0.1:3260"


@dataclass
class Target:
    """A target as tgtadm shows it: its LUNs by number, each with what is behind it."""

    number: int
    name: str
    luns: dict[int, str] = field(default_factory=dict)
    accounts: list[str] = field(default_factory=list)
    initiators: list[str] = field(default_factory=list)


def read_targets(text: str) -> list[Target]:
    """Return the targets of ``tgtadm --mode target --op show``."""
    found: list[Target] = []
    part, lun = "", -1
    for line in text.splitlines():
        words, depth = line.strip(), len(line) - len(line.lstrip())
        head = _TARGET.fullmatch(words) if depth == 0 else None
        if head:
            found.append(Target(int(head[1]), head[2]))
            part = ""
        elif not found:
            continue
        elif words.endswith("information:") and depth == 4:  # noqa: PLR2004 - Of its own form.
            part = words
        elif part == "LUN information:" and words.startswith("LUN: "):
            lun = int(words.removeprefix("LUN: "))
        elif part == "LUN information:" and words.startswith("Backing store path: "):
            found[-1].luns[lun] = words.removeprefix("Backing store path: ")
        elif part == "Account information:" and words:
            found[-1].accounts.append(words.split(" ")[0])
        elif part == "ACL information:" and words:
            found[-1].initiators.append(words)
    return found


class Tgt:
    """Steps of tgtadm, in the order in which they are made; they are undone the other way round."""

    def __init__(self, request: LunRequest, permission: Permission = NOTHING) -> None:
        """Set up this request.

        Raises
        ------
        LunError
            If there is no tgtadm.

        """
        self.request = request
        self._permission = permission
        beside = shutil.which("tgtadm", path="/usr/sbin:/sbin")
        self._program = shutil.which("tgtadm") or beside or ""
        if not self._program:
            raise LunError("there is no tgtadm: install it (Debian: tgt)")

    def steps(self, *, is_removal: bool = False) -> list[LunStep]:
        """Return all steps: what is behind it, target, account, LUN, and who may use it."""
        request = self.request
        others = self._other_luns
        steps = [
            backing_step(request, lambda: is_removal or self._is_offered(), self._permission),
            LunStep(
                f"target {request.target}",
                self._has_target,
                self._new_target,
                self._drop_target,
                why_kept=others,
            ),
            LunStep(f"LUN {request.lun}", self._is_offered, self._new_lun, self._drop_lun),
        ]
        if request.chap_user is not None:
            steps += self._account_steps(request.chap_user)
        access = LunStep(
            f"access of {self._who}",
            self._may_use,
            self._permit,
            self._forbid,
            part="map",
            why_kept=others,
        )
        return [*steps, access]

    def _account_steps(self, user: str) -> list[LunStep]:
        return [
            LunStep(
                f"account {user}",
                self._has_account,
                self._new_account,
                self._drop_account,
                part="map",
                why_kept=self._other_targets,
            ),
            LunStep(
                f"account {user} bound",
                self._is_bound,
                self._bind,
                self._unbind,
                part="map",
                why_kept=self._other_luns,
            ),
        ]

    def _other_luns(self) -> str | None:
        """Return why the target and who may use it stay: it has LUNs that were not meant."""
        found = self._target()
        mine = (0, self.request.lun)
        others = [] if found is None else [one for one in found.luns if one not in mine]
        return f"the target has other LUNs: {', '.join(map(str, others))}" if others else None

    def _other_targets(self) -> str | None:
        mine = self.request.target
        others = [one.name for one in self._targets() if self._user() in one.accounts]
        others = [one for one in others if one != mine or self._other_luns()]
        return f"it is of {', '.join(others)}, too" if others else None

    def address(self) -> str:
        """Return the address to measure.

        Raises
        ------
        LunError
            If tgtd has no such LUN.

        """
        request, found = self.request, self._target()
        if found is None or request.lun not in found.luns:
            raise LunError(
                f"tgtd has no LUN {request.lun} of {request.target}: set it up with "
                "fathom lun setup"
            )
        portal = request.portal or self._portal()
        return f"iscsi://{portal}/{request.target}/{request.lun}"

    def listed(self) -> list[dict[str, str]]:
        """Return what there is, one row for each LUN."""
        rows = []
        for target in self._targets():
            for number, path in target.luns.items():
                if number or len(target.luns) == 1:
                    rows.append(
                        {
                            "target": target.name,
                            "lun": str(number) if number else "-",
                            "path": path if number else "-",
                            "initiators": ", ".join(target.initiators),
                            "accounts": ", ".join(target.accounts),
                        }
                    )
        return rows

    @property
    def _who(self) -> str:
        return self.request.initiator or self.request.initiator_address or "127.0.0.1"

    def _run(self, *words: str, secret: str | None = None) -> str:
        port = self.request.control_port
        control = [] if port is None else ["--control-port", str(port)]
        try:
            done = subprocess.run(  # noqa: S603 - tgtadm; names are checked, and there is no shell.
                [self._program, *control, "--lld", "iscsi", *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LunError(f"tgtadm does not answer: {type(error).__name__}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            text = without_secrets(said[-1] if said else "no reason", (secret,) if secret else ())
            hint = "; is tgtd running (as root)?" if "not connected" in text else ""
            raise LunError(f"tgtadm {' '.join(words[:4])} failed: {text}{hint}")
        return done.stdout

    def _targets(self) -> list[Target]:
        return read_targets(self._run("--op", "show", "--mode", "target"))

    def _target(self) -> Target | None:
        return next((one for one in self._targets() if one.name == self.request.target), None)

    def _tid(self) -> str:
        found = self._target()
        if found is None:
            raise LunError(f"there is no target {self.request.target}")
        return str(found.number)

    def _portal(self) -> str:
        with suppress(LunError):
            found = _PORTAL.search(self._run("--op", "show", "--mode", "portal"))
            if found:
                name, _, port = found[1].rpartition(":")
                return f"{'127.0.0.1' if name in ('0.0.0.0', '[::]') else name}:{port}"  # noqa: S104
        return _DEFAULT_PORTAL

    def _has_target(self) -> bool:
        return self._target() is not None

    def _new_target(self) -> None:
        taken = {one.number for one in self._targets()}
        number = next(one for one in range(1, len(taken) + 2) if one not in taken)
        name = self.request.target or ""
        self._run("--op", "new", "--mode", "target", "--tid", str(number), "--targetname", name)

    def _drop_target(self) -> None:
        found = self._target()
        if found is not None:
            if any(number for number in found.luns):
                raise LunError(f"the target {found.name} still has LUNs of others")
            self._run("--op", "delete", "--mode", "target", "--tid", str(found.number))

    def _accounts(self) -> list[str]:
        lines = self._run("--op", "show", "--mode", "account").splitlines()[1:]
        return [one.strip() for one in lines if one.strip()]

    def _user(self) -> str:
        return self.request.chap_user or ""

    def _has_account(self) -> bool:
        return self._user() in self._accounts()

    def _new_account(self) -> None:
        secret = chap_secret(self.request)
        words = ("--op", "new", "--mode", "account", "--user", self._user())
        self._run(*words, "--password", secret, secret=secret)

    def _drop_account(self) -> None:
        if not self._has_account():
            return
        if any(self._user() in one.accounts for one in self._targets()):
            raise LunError(f"the account {self._user()} is of other targets, too")
        self._run("--op", "delete", "--mode", "account", "--user", self._user())

    def _is_bound(self) -> bool:
        found = self._target()
        return found is not None and self._user() in found.accounts

    def _bind(self) -> None:
        words = ("--op", "bind", "--mode", "account", "--tid", self._tid())
        self._run(*words, "--user", self._user())

    def _unbind(self) -> None:
        if self._is_bound():
            words = ("--op", "unbind", "--mode", "account", "--tid", self._tid())
            self._run(*words, "--user", self._user())

    def _is_offered(self) -> bool:
        found = self._target()
        path = None if found is None else found.luns.get(self.request.lun)
        if path is None:
            return False
        if Path(path).resolve() != Path(self.request.path).resolve():
            raise LunError(
                f"LUN {self.request.lun} of {self.request.target} is {path} already: name another "
                "--lun or --target"
            )
        return True

    def _new_lun(self) -> None:
        path = Path(self.request.path).absolute()
        for one in self._targets():
            for number, other in one.luns.items():
                if Path(other).resolve() == path.resolve():
                    raise LunError(f"{path} is LUN {number} of {one.name} already")
        words = ("--op", "new", "--mode", "logicalunit", "--tid", self._tid())
        self._run(*words, "--lun", str(self.request.lun), "--backing-store", str(path))

    def _drop_lun(self) -> None:
        found = self._target()
        if found is None or self.request.lun not in found.luns:
            return
        if self._other_luns() is None:
            self._cut(found)
        words = ("--op", "delete", "--mode", "logicalunit", "--tid", str(found.number))
        self._run(*words, "--lun", str(self.request.lun))

    def _cut(self, target: Target) -> None:
        """Close the connections to a target: a LUN in use is not deleted."""
        tid = str(target.number)
        session = ""
        for line in self._run("--op", "show", "--mode", "conn", "--tid", tid).splitlines():
            kind, _, number = line.strip().partition(": ")
            session = number if kind == "Session" else session
            if kind == "Connection":
                words = ("--op", "delete", "--mode", "conn", "--tid", tid, "--sid", session)
                # It may have ended by itself.
                with suppress(LunError):
                    self._run(*words, "--cid", number)

    def _may_use(self) -> bool:
        found = self._target()
        return found is not None and (self._who in found.initiators or _ANY in found.initiators)

    def _rule(self) -> tuple[str, str]:
        is_name = self.request.initiator is not None and self.request.initiator != _ANY
        return ("--initiator-name" if is_name else "--initiator-address", self._who)

    def _permit(self) -> None:
        self._run("--op", "bind", "--mode", "target", "--tid", self._tid(), *self._rule())

    def _forbid(self) -> None:
        found = self._target()
        if found is not None and self._who in found.initiators:
            words = ("--op", "unbind", "--mode", "target", "--tid", str(found.number))
            self._run(*words, *self._rule())
