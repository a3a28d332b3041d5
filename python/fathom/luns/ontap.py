"""The provider ``ontap``: aggregate, volume, LUN, initiator group and map of a controller."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fathom.errors import InvalidRequestError
from fathom.luns.request import bytes_of, secret_from
from fathom.luns.rest import Controller, Rest
from fathom.luns.steps import LunError, LunStep

if TYPE_CHECKING:
    from fathom.luns.request import LunRequest

__all__ = ["Ontap", "own_initiator"]

_PATH = re.compile(r"/vol/(?P<volume>[A-Za-z0-9_]{1,203})/(?:[A-Za-z0-9_.{}-]+/)?[A-Za-z0-9_.{}-]+")
_INITIATOR_FILE = Path("/etc/iscsi/initiatorname.iscsi")
_PROTOCOLS = ("iscsi", "fcp", "mixed")
_AGGREGATES, _VOLUMES, _LUNS = (
    "/api/storage/aggregates",
    "/api/storage/volumes",
    "/api/storage/luns",
)
_IGROUPS, _MAPS = "/api/protocols/san/igroups", "/api/protocols/san/lun-maps"


def own_initiator(file: Path = _INITIATOR_FILE) -> str | None:
    """Return the name of this host's initiator, as open-iscsi keeps it; None if it has none."""
    with suppress(OSError):
        for line in file.read_text(errors="replace").splitlines():
            name, equals, value = line.partition("=")
            if equals and name.strip() == "InitiatorName":
                return value.strip()
    return None


def _may_hold_more() -> str | None:
    return "it may hold more than this LUN"


def _name(record: dict[str, object], part: str) -> str:
    found = record.get(part)
    return str(found.get("name")) if isinstance(found, dict) else ""


class Ontap:
    """Steps of the REST interface, in the order of the script."""

    def __init__(self, request: LunRequest) -> None:
        """Set up this request.

        Raises
        ------
        InvalidRequestError
            If something that ONTAP needs is missing or wrong.

        """
        self.request = request
        if not _PATH.fullmatch(request.path):
            raise InvalidRequestError(f"--path {request.path} is no LUN such as /vol/vol1/lun1")
        if (request.igroup_protocol or "iscsi") not in _PROTOCOLS:
            raise InvalidRequestError(f"--igroup-protocol is {', '.join(_PROTOCOLS)}")
        password = secret_from(request.password_file, "FATHOM_ONTAP_PASSWORD", "the password")
        user = request.user or "admin"
        self._rest = Rest(Controller(request.controller or "", user, password, request.ca))
        self._svm_name = request.svm

    def steps(self, *, is_removal: bool = False) -> list[LunStep]:
        """Return all steps; what was not named, such as an aggregate, has to be there."""
        del is_removal
        request = self.request
        steps = []
        if request.aggregate is not None:
            name = f"aggregate {request.aggregate}"
            undo = partial(self._drop, _AGGREGATES, request.aggregate, is_of_svm=False)
            make = self._new_aggregate
            steps.append(LunStep(name, self._has_aggregate, make, undo, why_kept=_may_hold_more))
        if request.volume is not None:
            name, has = f"volume {request.volume}", partial(self._has, _VOLUMES, request.volume)
            undo = partial(self._drop, _VOLUMES, request.volume)
            steps.append(LunStep(name, has, self._new_volume, undo, why_kept=_may_hold_more))
        has = partial(self._has, _LUNS, request.path)
        undo = partial(self._drop, _LUNS, request.path)
        steps.append(LunStep(f"LUN {request.path}", has, self._new_lun, undo, holds_data=True))
        return [*steps, *self._map_steps(request.igroup or "")]

    def _map_steps(self, igroup: str) -> list[LunStep]:
        path = self.request.path
        return [
            LunStep(
                f"initiator group {igroup}",
                partial(self._has, _IGROUPS, igroup),
                self._new_igroup,
                partial(self._drop, _IGROUPS, igroup),
                part="map",
                why_kept=self._igroup_users,
            ),
            LunStep(
                f"initiator {self._initiator()} in {igroup}",
                self._has_initiator,
                self._add_initiator,
                self._drop_initiator,
                part="map",
                why_kept=self._igroup_users,
            ),
            LunStep(
                f"map of {path} to {igroup}",
                self._is_mapped,
                self._new_map,
                self._drop_map,
                part="map",
            ),
        ]

    def _igroup_users(self) -> str | None:
        """Return why the initiators' group stays: other LUNs are mapped to it, or others in it."""
        name = self.request.igroup or ""
        svm = self._svm()
        maps = self._rest.records(_MAPS, svm__name=svm, igroup__name=name, fields="lun.name")
        luns = [str(one.get("lun", {}).get("name")) for one in maps]
        luns = [one for one in luns if one != self.request.path]
        if luns:
            return f"other LUNs are mapped to it: {', '.join(luns[:5])}"
        path = self._initiators()
        found = [] if path is None else self._rest.records(path, fields="name")
        names = [str(one.get("name")) for one in found]
        others = [one for one in names if one != self._initiator()]
        return f"it has other initiators: {', '.join(others[:5])}" if others else None

    def address(self) -> str:
        """Return the address to measure, as the controller tells its target, portal and number."""
        services = self._rest.records(
            "/api/protocols/san/iscsi/services", svm__name=self._svm(), fields="target.name,enabled"
        )
        if not services:
            raise LunError(f"the SVM {self._svm()} has no iSCSI service: enable it first")
        target = services[0].get("target", {}).get("name", "")
        maps = self._maps()
        if not maps:
            request = self.request
            raise LunError(
                f"{request.path} is not mapped to {request.igroup}: map it with fathom lun map"
            )
        number = maps[0].get("logical_unit_number", 0)
        return f"iscsi://{self.request.portal or self._portal()}/{target}/{number}"

    def listed(self) -> list[dict[str, str]]:
        """Return what there is, one row for each LUN of the SVM."""
        fields = "name,os_type,space.size,status.mapped"
        found = self._rest.records(_LUNS, svm__name=self._svm(), fields=fields)
        return [
            {
                "path": str(one.get("name", "")),
                "type": str(one.get("os_type", "")),
                "bytes": str(one.get("space", {}).get("size", "")),
                "mapped": "yes" if one.get("status", {}).get("mapped") else "no",
            }
            for one in found
        ]

    def _svm(self) -> str:
        if self._svm_name is None:
            names = [
                str(one.get("name")) for one in self._rest.records("/api/svm/svms", fields="name")
            ]
            if len(names) != 1:
                there = ", ".join(names) or "none"
                raise LunError(f"--svm is missing: the controller has {there}")
            self._svm_name = names[0]
        return self._svm_name

    def _initiator(self) -> str:
        found = self.request.initiator or own_initiator()
        if not found:
            raise InvalidRequestError(
                "--initiator is missing: this host has no name of its own (open-iscsi: "
                f"{_INITIATOR_FILE})"
            )
        return found

    def _portal(self) -> str:
        found = self._rest.records(
            "/api/network/ip/interfaces",
            svm__name=self._svm(),
            services="data_iscsi",
            fields="ip.address,state",
        )
        if not found:
            raise LunError(f"the SVM {self._svm()} has no interface for iSCSI (data_iscsi)")
        up = [one for one in found if one.get("state", "up") == "up"] or found
        address = str(up[0].get("ip", {}).get("address", ""))
        return f"[{address}]:3260" if ":" in address else f"{address}:3260"

    def _has(self, path: str, name: str) -> bool:
        return self._uuid(path, name) is not None

    def _uuid(self, path: str, name: str, *, is_of_svm: bool = True) -> str | None:
        query = {"svm__name": self._svm()} if is_of_svm else {}
        found = self._rest.records(path, name=name, fields="name", **query)
        # To a query of ONTAP, ``a..b`` is all from a to b.
        mine = [one["uuid"] for one in found if one.get("name") == name and one.get("uuid")]
        return str(mine[0]) if mine else None

    def _drop(self, path: str, name: str, *, is_of_svm: bool = True) -> None:
        uuid = self._uuid(path, name, is_of_svm=is_of_svm)
        if uuid is not None:
            self._rest.delete(f"{path}/{quote(uuid, safe='')}")

    def _has_aggregate(self) -> bool:
        return self._uuid(_AGGREGATES, self.request.aggregate or "", is_of_svm=False) is not None

    def _new_aggregate(self) -> None:
        if self.request.disk_count is None:
            raise InvalidRequestError(f"--disk-count is missing: {self.request.aggregate} is new")
        node = self.request.node
        if node is None:
            nodes = self._rest.records("/api/cluster/nodes", fields="name")
            node = str(nodes[0].get("name")) if nodes else ""
        self._rest.post(
            _AGGREGATES,
            {
                "name": self.request.aggregate,
                "node": {"name": node},
                "block_storage": {"primary": {"disk_count": self.request.disk_count}},
            },
        )

    def _new_volume(self) -> None:
        request = self.request
        if request.volume_size is None or request.aggregate is None:
            raise InvalidRequestError(
                f"the volume {request.volume} is new: --volume-size and --aggregate are needed"
            )
        body: dict[str, object] = {
            "svm": {"name": self._svm()},
            "name": request.volume,
            "aggregates": [{"name": request.aggregate}],
            "size": bytes_of(request.volume_size, "--volume-size"),
        }
        if request.snapshot_reserve is not None:
            body["space"] = {"snapshot": {"reserve_percent": request.snapshot_reserve}}
        self._rest.post(_VOLUMES, body)

    def _new_lun(self) -> None:
        request = self.request
        if request.size is None:
            raise InvalidRequestError(f"the LUN {request.path} is new: --size is needed")
        body = {
            "svm": {"name": self._svm()},
            "name": request.path,
            "os_type": request.type or "linux",
            "space": {"size": bytes_of(request.size, "--size")},
        }
        self._rest.post(_LUNS, body)

    def _new_igroup(self) -> None:
        request = self.request
        self._rest.post(
            _IGROUPS,
            {
                "svm": {"name": self._svm()},
                "name": request.igroup,
                "protocol": request.igroup_protocol or "iscsi",
                "os_type": request.igroup_type or "linux",
            },
        )

    def _initiators(self) -> str | None:
        uuid = self._uuid(_IGROUPS, self.request.igroup or "")
        return None if uuid is None else f"{_IGROUPS}/{quote(uuid, safe='')}/initiators"

    def _has_initiator(self) -> bool:
        path = self._initiators()
        if path is None:
            return False
        found = self._rest.records(path, name=self._initiator(), fields="name")
        return any(one.get("name") == self._initiator() for one in found)

    def _add_initiator(self) -> None:
        path = self._initiators()
        if path is None:
            raise LunError(f"there is no initiator group {self.request.igroup}")
        self._rest.post(path, {"name": self._initiator()})

    def _drop_initiator(self) -> None:
        path = self._initiators()
        if path is not None and self._has_initiator():
            self._rest.delete(f"{path}/{quote(self._initiator(), safe='')}")

    def _maps(self) -> list[dict[str, object]]:
        lun, igroup = self.request.path, self.request.igroup or ""
        found = self._rest.records(
            _MAPS,
            svm__name=self._svm(),
            lun__name=lun,
            igroup__name=igroup,
            fields="logical_unit_number,lun.name,lun.uuid,igroup.name,igroup.uuid",
        )
        return [one for one in found if (_name(one, "lun"), _name(one, "igroup")) == (lun, igroup)]

    def _is_mapped(self) -> bool:
        return bool(self._maps())

    def _new_map(self) -> None:
        body = {
            "svm": {"name": self._svm()},
            "lun": {"name": self.request.path},
            "igroup": {"name": self.request.igroup},
        }
        self._rest.post(_MAPS, body)

    def _drop_map(self) -> None:
        lun = self._uuid(_LUNS, self.request.path)
        igroup = self._uuid(_IGROUPS, self.request.igroup or "")
        if lun and igroup and self._is_mapped():
            self._rest.delete(f"{_MAPS}/{quote(lun, safe='')}/{quote(igroup, safe='')}")
