"""What failed, in kinds that scripts can tell apart without reading sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fathom
import pytest

if TYPE_CHECKING:
    from pathlib import Path


def test_a_failure_tells_its_kind(tmp_path: Path) -> None:
    for args, kind in (
        (f"-d1 -W0 {tmp_path}/none.dat", "not_found"),
        (f"-d1 -W0 {tmp_path}/no/folder.dat", "not_found"),
        (f"-d1 -W0 {tmp_path}", "unsupported"),
        (f"-d1 -W0 -c8E {tmp_path}/huge.dat", None),
    ):
        with pytest.raises((fathom.RunFailedError, fathom.InvalidRequestError)) as raised:
            fathom.run(args)
        if kind is None:
            continue
        assert isinstance(raised.value, fathom.RunFailedError), args
        assert raised.value.kind == kind
        failure = raised.value.result.raw["failures"][0]
        assert failure["kind"] == kind
        assert failure["message"] in str(raised.value)


def test_a_full_disk_is_told_as_no_space(tmp_path: Path) -> None:
    with pytest.raises(fathom.RunFailedError) as raised:
        fathom.run(f"-d1 -W0 -c100T {tmp_path}/x.dat")
    assert raised.value.kind in {"no_space", "limit"}
    assert not (tmp_path / "x.dat").exists()


def test_a_run_that_did_not_fail_has_no_failures(tmp_path: Path) -> None:
    result = fathom.run(f"-c1M -b4K -d1 -W0 --stop-ios=1 {tmp_path}/x.dat")
    assert "failures" not in result.raw
    assert fathom.RunFailedError("none is known", result).kind == "other"
