"""The API by its own description: valid, and enough for a client that a program generates."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom.web.app import openapi
from served import served

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = Path(__file__).parents[2] / "target/openapi/bin"


def program(name: str) -> str:
    """Return a program of requirements-openapi.txt."""
    found = shutil.which(name) or shutil.which(name, path=TOOLS)
    if found is None:
        pytest.skip(f"{name} is not installed (requirements-openapi.txt, into target/openapi)")
    return found


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("described") / "openapi.json"
    place.write_text(json.dumps(openapi()))
    return place


def test_the_description_is_valid(description: Path) -> None:
    done = subprocess.run(
        [program("openapi-spec-validator"), description],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "OK" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.fixture
def generated(description: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a generated package that can be imported."""
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    words = [program("openapi-python-client"), "generate", "--path", description, "--meta", "none"]
    words += ["--config", tmp_path / "config.yml", "--output-path", tmp_path / "fathom_client"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    # What it cannot generate is a warning of its.
    told = done.stdout + done.stderr
    assert (done.returncode, "WARNING" in told, "Warning" in told) == (0, False, False), told
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "fathom_client"
    for name in [one for one in sys.modules if one.partition(".")[0] == "fathom_client"]:
        del sys.modules[name]


def test_a_generated_client_runs_a_measurement_to_its_result(
    generated: str, tmp_path: Path
) -> None:
    def part(name: str) -> Any:  # noqa: ANN401 - Generated just now.
        return importlib.import_module(f"{generated}.{name}")

    models, processes, store = part("models"), "api.processes", "api.store"
    with served(tmp_path) as server:
        client = part("client").AuthenticatedClient(base_url=server.base, token=server.token)
        words = ["-c4M", "-b4K", "-r", "-o2", "-L", "-W0", "-d1", "--", str(tmp_path / "x.dat")]
        wanted = models.ExplanationIn(verb=models.ExplanationInVerb.RUN, arguments=words)
        told = part(f"{processes}.explain").sync(client=client, body=wanted)
        assert told.would_run, told.text
        body = models.StartIn(explanation=told.id)
        run = part(f"{processes}.start").sync(client=client, body=body)
        while run.state == "running":
            time.sleep(0.2)
            run = part(f"{processes}.get_process").sync(run.id, client=client)
        assert (run.state, len(run.run_ids)) == ("complete", 1)
        (number,) = run.run_ids
        kept = part(f"{store}.get_run").sync(number, client=client)
        assert kept.iops > 0
        assert kept.outcome == "complete"
        whole = part(f"{store}.get_result").sync_detailed(number, client=client)
        assert json.loads(whole.content)["time_spans"][0]["outcome"] == "complete"
        # The description had errors of another form than those that were sent.
        body = models.StartIn(explanation="made up")
        refused = part(f"{processes}.start").sync(client=client, body=body)
        assert "explained" in refused.detail
        assert "4711" in part(f"{store}.get_run").sync(4711, client=client).detail
        client.get_httpx_client().close()
