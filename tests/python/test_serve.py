"""``fathom serve`` over HTTP: what it lets in, what it refuses, and what outlives it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from commands import command
from fabricated import fabricated
from fathom.cli.verbs import load
from fathom.store import Store
from fathom.web.asking import _REFUSED as REFUSED
from fathom.web.asking import VERBS
from fathom.web.targets import targets
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from reported import EVIL, saved_assessment
from served import Server, certified, explained, served, started, trusting, typed, wait_for
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


EVERYWHERE = "0.0.0.0"  # noqa: S104 - What is tested.
LOAD = ("-c8M", "-b4K", "-r", "-o4", "-L", "-W0")
PAGES = ("/", "/start", "/runs", "/experiments", "/compare", "/trends", "/findings")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Store(folder / "store.sqlite") as store:
        saved_assessment(store, name=f"/mnt/{EVIL}", evil=EVIL)
        for at in range(3):
            result = fabricated(rates=1000.0 + at, latency_ns=100.0, path=f"/mnt/{EVIL}", depth=8)
            store.runs.save(result, ["-o8", f"/mnt/{EVIL}"], label=EVIL)
    with served(folder) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def silent(server: Server) -> Iterator[list[socket.socket]]:
    """Return clients that begin a request and say no more; all tests go on beside them."""
    found = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for one in found:
        one.sendall(b"GET / HTTP/1.1\r\nHost:")
    yield found
    for one in found:
        one.close()


def state(client: httpx.Client, name: str) -> Any:  # noqa: ANN401 - JSON.
    return client.get(f"/api/v1/processes/{name}").json()["state"]


def test_nobody_comes_in_without_the_token(server: Server) -> None:
    with server.client() as stranger:
        for path in (*PAGES, "/runs/1", "/metrics", "/api/v1/runs", "/api/v1/live"):
            assert stranger.get(path).status_code == 401, path
        assert stranger.post("/api/v1/processes", json={"explanation": "x"}).status_code == 401
        led = stranger.get("/runs", headers={"accept": "text/html"})
        assert (led.status_code, led.headers["location"]) == (303, "/login")
        assert stranger.get("/", params={"token": "wrong"}).status_code == 401


def test_the_token_becomes_a_session_that_no_script_and_no_site_can_use(server: Server) -> None:
    with server.client(cookies={"fathom": "mine-from-before"}) as browser:
        answer = browser.get("/", params={"token": server.token})
        cookie = answer.headers["set-cookie"]
        assert answer.headers["location"] == "/"
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            assert part in cookie
        # What the browser brought is not what it gets (session fixation).
        assert "mine-from-before" not in cookie
    with server.client(cookies={"fathom": "mine-from-before"}) as fixed:
        assert fixed.get("/runs").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
    ],
)
def test_other_names_and_other_sites_get_nothing(
    server: Server, headers: dict[str, str], status: int
) -> None:
    with server.program() as program:
        answer = program.get("/api/v1/runs", headers=headers)
        assert (answer.status_code, "label" in answer.text) == (status, False)


def test_a_session_changes_nothing_without_its_word(server: Server) -> None:
    browser, headers = server.browser()
    with closing(browser):
        asked = {"verb": "run", "arguments": ["-c1M", "x.dat"]}
        for wrong in ({}, {"x-csrf-token": "guessed"}):
            answer = browser.post("/api/v1/explanations", json=asked, headers=wrong)
            assert (answer.status_code, "CSRF" in answer.text) == (403, True)
        evil = {**headers, "origin": "http://evil.example"}
        assert browser.post("/api/v1/explanations", json=asked, headers=evil).status_code == 403
        assert browser.post("/api/v1/explanations", json=asked, headers=headers).status_code == 200


def test_every_answer_says_what_a_browser_may_do_with_it(server: Server) -> None:
    with server.program() as program:
        for path in (*PAGES, "/api/v1/runs", "/nowhere", "/static/vega.js"):
            sent = program.get(path).headers
            assert "default-src 'none'" in sent["content-security-policy"], path
            assert "unsafe" not in sent["content-security-policy"]
            assert "frame-ancestors 'none'" in sent["content-security-policy"]
            assert sent["x-content-type-options"] == "nosniff"
            assert sent["cache-control"] in ("no-store", "no-cache")
            assert "server" not in sent


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../etc/passwd",
        "/static/%2e%2e%2f%2e%2e%2fsettings.py",
        "/static/..%5c..%5cx",
        "/download/%2Fetc%2Fpasswd.json",
        "/download/..%2F..%2Fx.csv",
        "/api/v1/processes/..%2F..%2Faccounts.json",
        "/api/v1/comparisons?a=/etc/passwd&b=1",
        "/compare?a=../secret.json&b=1",
    ],
)
def test_no_path_leads_out_of_what_is_served(server: Server, path: str) -> None:
    (server.folder / "secret.json").write_text('{"root:": 1}')
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close"]
        lines.append(f"Authorization: Bearer {server.token}")
        plain.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: plain.recv(65536), b""))
    status = int(answer.split()[1])
    assert 400 <= status < 500, answer[:200]
    assert b"root:" not in answer


def test_names_of_others_are_text_on_every_page(server: Server) -> None:
    with server.program() as program:
        for path in (*PAGES, "/runs/1", "/experiments/1", "/trends/1", "/compare?a=1&b=2"):
            answer = program.get(path)
            assert answer.status_code == 200, path
            assert EVIL not in answer.text, path
        assert program.get(f"/runs?label={EVIL}&device={EVIL}").text.count(EVIL) == 0


def test_what_is_too_large_or_no_number_is_refused(server: Server) -> None:
    with server.program() as program:
        huge = b"x" * (1 << 20)
        assert program.post("/api/v1/explanations", content=huge).status_code == 413
        pieces = iter([b"x" * 30_000] * 5)
        assert program.post("/api/v1/explanations", content=pieces).status_code == 413
        for path in ("/runs/0", "/runs/99999999999999999999", "/runs/x", "/api/v1/runs?limit=1e9"):
            assert program.get(path).status_code == 422, path
        assert program.get("/runs/4711").status_code == 404
        long = {"verb": "run", "arguments": ["x" * 5000]}
        assert program.post("/api/v1/explanations", json=long).status_code == 422


@pytest.mark.parametrize("name", ["%ED%A0%80", "a%00b", "r12", "<script>"])
def test_a_bad_name_was_said_to_be_a_fault_of_the_server(server: Server, name: str) -> None:
    with server.program() as program:
        answer = program.put(f"/api/v1/baselines/{name}", json={"reference": "1"})
        assert (answer.status_code, "cannot be a baseline's name" in answer.text) == (422, True)
        assert program.get("/api/v1/processes/20260101-000000-00000000").status_code == 404


@pytest.mark.parametrize("place", ["/api/v1/trends/1", "/trends/1"])
def test_a_metric_that_is_none_was_said_to_be_a_fault_of_the_server(
    server: Server, place: str
) -> None:
    with server.program() as program:
        answer = program.get(place, params={"metric": "p42"})
    assert (answer.status_code, "there are iops" in answer.text) == (422, True)


def test_wrong_tokens_are_counted_by_address(server: Server) -> None:
    wrong = {"authorization": "Bearer wrong"}
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    with server.client(transport=transport) as guesser:
        codes = [guesser.get("/api/v1/runs", headers=wrong).status_code for _ in range(7)]
        assert codes == [401] * 5 + [429] * 2
        assert int(guesser.get("/", params={"token": "x"}).headers["retry-after"]) > 60
    with server.program() as another:
        assert another.get("/api/v1/runs").status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        ["--overwrite", "-c1M", "x.dat"],
        ["--allow-write=/dev/sda", "-w100", "/dev/sda"],
        ["--runner=/tmp/evil", "-c1M", "x.dat"],
        ["--runner", "./evil", "-c1M", "x.dat"],
        ["--store=/tmp/other", "-c1M", "x.dat"],
        ["--json=/tmp/out", "-c1M", "x.dat"],
        ["--metrics-file=/tmp/x.prom", "-c1M", "x.dat"],
        ["x\0y"],
        # Half of a character ended in a traceback.
        ["\ud800"],
        # These read a file of the server's account: a profile, what is written, a password.
        ["-X/etc/passwd"],
        ["-c1M", "-w100", "-Z4K,/etc/shadow", "nbd://127.0.0.1/x"],
        ["--credentials=/root/secret", "smb://evil.example/x"],
    ],
)
def test_arguments_that_act_elsewhere_are_refused(server: Server, words: list[str]) -> None:
    refused(server, "run", words)


def refused(server: Server, verb: str, words: list[str]) -> None:
    with server.program() as program:
        asked = json.dumps({"verb": verb, "arguments": words})
        how = {"content-type": "application/json"}
        answer = program.post("/api/v1/explanations", content=asked, headers=how)
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("words", ["-o1 --json=/tmp/x", "-o1\t--json=/tmp/x", "-o1\n-X/tmp/x"])
def test_arguments_within_a_word_were_seen_behind_a_space_alone(server: Server, words: str) -> None:
    refused(server, "compare", ["--run", words, "-o2", "-c1M", "x.dat"])
    refused(server, "compare", [f"--run={words}", "-o2", "-c1M", "x.dat"])


@pytest.mark.parametrize(
    "words",
    [
        "'-X/etc/passwd'",
        '"-X/etc/passwd"',
        "\\-X/etc/passwd",
        "'--verify-journal'=/tmp/x",
        "\"'-Xx'\"",
    ],
)
def test_an_argument_in_quotes_within_a_word_was_not_seen(server: Server, words: str) -> None:
    refused(server, "compare", ["--run", words, "-o2", "-c1M", "x.dat"])
    refused(server, "compare", ["--run", "-o2", words, "-c1M", "x.dat"])
    refused(server, "compare", [f"--run={words}", "-o2", "-c1M", "x.dat"])


@pytest.mark.parametrize("words", ["--vary=--json=/tmp/a,/tmp/b", "--vary=-X=/tmp/a,/tmp/b"])
def test_an_option_that_varies_was_not_seen(server: Server, words: str) -> None:
    refused(server, "sweep", [words, "-c1M", "x.dat"])


def test_each_option_of_what_can_be_started_was_judged() -> None:
    """A new option of these verbs or of diskspd belongs here, or among those that are refused."""
    known = {one for verb in VERBS for option in load(verb).params for one in option.opts}
    told = subprocess.run([diskspd(), "--help"], capture_output=True, text=True, check=True)
    known |= set(re.findall(r"^ +(--[a-z-]+)", told.stdout, re.MULTILINE))
    known = {one for one in known if one.startswith("--")}
    assert known - {*REFUSED} - JUDGED == set()
    assert JUDGED - known == set()


# They name no file, or a target; what is allowed has fields of its own.
JUDGED = set(
    """
    --any-load --block --confidence --depth --duration --fail-if --fleet --grow --hosts --label
    --longest --mean --metric --most --on-host-loss --overlap --p99 --pilot --precision
    --precondition --quick --require --resume --run --seed --size --steady --thorough --threads
    --time --tls --tolerance --vary --verdict --warm-up --write --writes
    --arrivals --block-mix --compress --connections --dedupe --doctor --engine --explain --fdatasync
    --fsync --interval-latency --io-timeout --list --on-error --polled --protect --rate --ratio
    --read-block-mix --read-pattern --reconnect --remove-created --skew --sqpoll --stop-bytes
    --stop-confidence --stop-interval --stop-ios --stop-pass --stop-steady --strict --trim --verify
    --write-block-mix --write-pattern --overwrite --allow-write
    """.split()  # noqa: SIM905 - Sixty lines otherwise.
)


def test_nothing_starts_that_was_not_explained_or_would_be_refused(server: Server) -> None:
    (server.folder / "mine.txt").write_text("mine " * 1000)
    with server.program() as program:
        answer = program.post("/api/v1/processes", json={"explanation": "made-up"})
        assert (answer.status_code, "explained" in answer.text) == (422, True)
        asked: dict[str, object] = {
            "verb": "run",
            "arguments": ["-b4K", "-w100", "-d1", "mine.txt"],
        }
        told = program.post("/api/v1/explanations", json=asked).json()
        assert (told["would_run"], "refused: " in told["text"]) == (False, True)
        answer = program.post("/api/v1/processes", json={"explanation": told["id"]})
        assert answer.status_code == 422
        told = program.post("/api/v1/explanations", json=asked | {"overwrite": True}).json()
        assert told["would_run"]
        assert "--overwrite" in told["command"]


def events(client: httpx.Client, name: str) -> Iterator[tuple[str, Any]]:
    with client.stream("GET", "/api/v1/live") as stream:
        kind = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            if line.startswith("data: "):
                content = json.loads(line.removeprefix("data: "))
                yield kind, content
                newest = content[0] if kind == "processes" else {}
                if newest.get("id") == name and newest["state"] != "running":
                    return


def test_a_run_is_started_watched_and_found_in_the_store(server: Server) -> None:
    browser, headers = server.browser()
    with closing(browser), server.program() as program:
        words = [*LOAD, "-d2", "--", str(server.folder / "a.dat"), str(server.folder / "b.dat")]
        second = explained(browser, headers, *words)
        name = started(browser, headers, *words)
        # Two at once would disturb each other.
        refused = browser.post("/api/v1/processes", json=second, headers=headers)
        assert (refused.status_code, "disturb" in refused.text) == (409, True)
        told = [*events(browser, name)]
        seconds = [content for kind, content in told if kind == "second"]
        assert seconds
        assert seconds[0]["ios"] == sum(one["ios"] for one in seconds[0]["targets"])
        done = program.get(f"/api/v1/processes/{name}").json()
        assert (done["state"], done["exit_code"], len(done["run_ids"])) == ("complete", 0, 1)
        number = done["run_ids"][0]
        assert program.get(f"/api/v1/runs/{number}").json()["outcome"] == "complete"
        result = program.get(f"/api/v1/runs/{number}/result").json()
        assert result["time_spans"][0]["outcome"] == "complete"
        for form, kind in (("csv", "text/csv"), ("json", "application/json")):
            answer = program.get(f"/download/{number}.{form}")
            assert answer.headers["content-type"].startswith(kind)
            assert "attachment" in answer.headers["content-disposition"]


def test_metrics_are_what_prometheus_reads(server: Server) -> None:
    with server.program() as program:
        answer = program.get("/metrics")
    assert "openmetrics" in answer.headers["content-type"]
    read = text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]
    families = {one.name: one for one in read}
    assert {"fathom_up", "fathom_last_iops", "fathom_viewers"} <= families.keys()
    assert EVIL in {one.labels["label"] for one in families["fathom_last_iops"].samples}


def test_the_description_of_the_api_names_what_there_is(server: Server) -> None:
    with server.program() as program:
        told = program.get("/api/v1/openapi.json").json()
    assert told["openapi"].startswith("3.")
    assert {"/api/v1/runs", "/api/v1/processes", "/api/v1/trends/{number}"} <= told["paths"].keys()
    names = [one["operationId"] for path in told["paths"].values() for one in path.values()]
    assert len(names) == len({*names})


def test_folders_of_the_system_were_listed_as_targets(tmp_path: Path) -> None:
    mounts = tmp_path / "proc/self/mountinfo"
    mounts.parent.mkdir(parents=True)
    # A folder counts where one may make a file in it.
    places = ("/sys/fs/cgroup", "/run/netns", str(tmp_path))
    mounts.write_text("".join(f"9 1 0:9 / {one} rw - tmpfs none rw\n" for one in places))
    assert [one.path for one in targets(tmp_path)] == [str(tmp_path)]


def test_a_run_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    with served(tmp_path) as first:
        with first.program() as program:
            name = started(program, {}, *LOAD, "-d5", "--", str(tmp_path / "x.dat"))
            wait_for(lambda: bool(program.get(f"/api/v1/processes/{name}").json()["phase"]))
        first.kill()
    with served(tmp_path) as again, again.program() as program:
        assert state(program, name) in ("running", "complete")
        wait_for(lambda: state(program, name), "complete")
        wait_for(lambda: len(program.get("/api/v1/runs").json()), 1)
        known = program.get(f"/api/v1/processes/{name}").json()
        assert known["run_ids"] == [1]
        # What happened while nobody looked is known, too.
        lines = (tmp_path / "serve/runs" / name / "events.jsonl").read_text().splitlines()
        assert sum('"live"' in one for one in lines) >= 4
        name = started(program, {}, *LOAD, "-d60", "--", str(tmp_path / "x.dat"))
        wait_for(lambda: program.get(f"/api/v1/processes/{name}").json()["phase"] == "measured")
        assert program.post(f"/api/v1/processes/{name}/stop").status_code == 202
        wait_for(lambda: state(program, name), "interrupted")
        assert program.get("/api/v1/runs").json()[0]["outcome"] == "interrupted"
        assert program.post(f"/api/v1/processes/{name}/stop").status_code == 409


def test_a_run_whose_processes_are_killed_is_lost_and_told_so(server: Server) -> None:
    with server.program() as program:
        name = started(program, {}, *LOAD, "-d60", "--", str(server.folder / "x.dat"))
        place = server.folder / "serve/runs" / name / "processes.json"
        noted = json.loads(place.read_text())
        for one in ("keeper", "child"):
            os.kill(noted[one]["pid"], signal.SIGKILL)
        wait_for(lambda: state(program, name), "lost")


def test_beyond_this_machine_it_takes_a_certificate_and_users(tmp_path: Path) -> None:
    place = ["serve", "--folder", str(tmp_path / "serve"), "--address", EVERYWHERE, "--port", "0"]
    done = command(*place)
    assert (done.returncode, "in the clear" in done.stderr) == (3, True)
    certificate, key = certified(tmp_path)
    done = command(*place, "--certificate", certificate, "--key", key)
    assert (done.returncode, "fathom serve user add" in done.stderr) == (3, True)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server with a certificate and two users, on an address that others could reach."""
    folder = tmp_path_factory.mktemp("public")
    certificate, key = certified(folder)
    for name, role in (("ann", "measure"), ("bob", "look")):
        words = ["user", "add", name, "--role", role, "--folder", str(folder / "serve")]
        added = typed(f"{name}-has-a-long-password", "serve", *words)
        assert added.returncode == 0, added.stderr
    words = ["--address", EVERYWHERE, "--answers-to", "127.0.0.1"]
    with served(folder, *words, "--certificate", str(certificate), "--key", str(key)) as found:
        yield found._replace(base=f"https://127.0.0.1:{found.port}")


def logged_in(server: Server, name: str, password: str) -> httpx.Client:
    client = server.client(verify=trusting(server.folder))
    answer = client.post(
        "/login",
        data={"name": name, "password": password},
        headers={"origin": server.base},
    )
    client.headers["x-status"] = str(answer.status_code)
    return client


def test_a_folder_of_others_was_closed_to_them(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    for mode, code in ((0o1777, 3), (0o755, 0)):
        theirs.mkdir(exist_ok=True)
        (theirs / "a.txt").touch()
        theirs.chmod(mode)
        done = command("serve", "user", "list", "--folder", theirs)
        assert (done.returncode, "others may write there" in done.stderr) == (code, bool(code))
        assert theirs.stat().st_mode & 0o7777 == mode
    typed("ann-has-a-long-password", "serve", "user", "add", "ann", "--folder", str(theirs))
    assert (theirs / "accounts.json").stat().st_mode & 0o777 == 0o600
    command("serve", "user", "list", "--folder", tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_users_come_in_by_password_over_tls(public: Server) -> None:
    ann = logged_in(public, "ann", "ann-has-a-long-password")
    with closing(ann):
        assert ann.headers["x-status"] == "303"
        (cookie,) = ann.cookies.jar
        assert cookie.name == "__Host-fathom"
        assert cookie.secure
        page = ann.get("/")
        assert "strict-transport-security" in page.headers
        # Who leaves is out, and the cookie of before opens nothing.
        word = page.text.split('name="fathom-csrf" content="')[1].split('"')[0]
        kept = ann.cookies["__Host-fathom"]
        assert (
            ann.post("/logout", data={"csrf": "x"}, headers={"origin": public.base}).status_code
            == 403
        )
        left = ann.post("/logout", data={"csrf": word}, headers={"origin": public.base})
        assert left.headers["location"] == "/login"
        ann.cookies.set("__Host-fathom", kept)
        assert ann.get("/runs").status_code == 401


def test_who_may_look_cannot_measure(public: Server) -> None:
    with closing(logged_in(public, "bob", "bob-has-a-long-password")) as bob:
        page = bob.get("/start").text
        assert "You may look, and not measure." in page
        word = page.split('name="fathom-csrf" content="')[1].split('"')[0]
        asked = {"verb": "run", "arguments": ["-c1M", "x.dat"]}
        headers = {"x-csrf-token": word, "origin": public.base}
        for path in ("/api/v1/explanations", "/api/v1/processes", "/api/v1/processes/x/stop"):
            answer = bob.post(path, json=asked, headers=headers)
            assert (answer.status_code, "may look" in answer.text) == (403, True)


def test_a_session_outlived_the_password_that_had_opened_it(public: Server) -> None:
    folder = str(public.folder / "serve")
    words = ["user", "add", "eve", "--folder", folder]
    assert typed("eve-has-a-long-password", "serve", *words).returncode == 0
    with closing(logged_in(public, "eve", "eve-has-a-long-password")) as eve:
        assert eve.get("/runs").status_code == 200
        assert typed("eve-has-another-password", "serve", *words, "--replace").returncode == 0
        assert eve.get("/runs").status_code == 401
    with closing(logged_in(public, "eve", "eve-has-another-password")) as eve:
        assert eve.get("/runs").status_code == 200


def test_passwords_cannot_be_guessed_and_a_removed_user_is_out(public: Server) -> None:
    with closing(logged_in(public, "ann", "ann-has-a-long-password")) as ann:
        assert ann.get("/runs").status_code == 200
        done = command("serve", "user", "remove", "ann", "--folder", public.folder / "serve")
        assert done.returncode == 0
        assert ann.get("/runs").status_code == 401
    # Many at once were all let through before the first of them was judged.
    with ThreadPoolExecutor(12) as pool:
        guessers = [*pool.map(lambda _: logged_in(public, "bob", "guessed-by-somebody"), range(12))]
    codes = sorted(guesser.headers["x-status"] for guesser in guessers)
    for guesser in guessers:
        guesser.close()
    assert codes == ["401"] * 5 + ["429"] * 7
    # Nor does the right one help now.
    with closing(logged_in(public, "bob", "bob-has-a-long-password")) as bob:
        assert bob.headers["x-status"] == "429"


def test_a_token_of_a_program_has_its_role(public: Server) -> None:
    folder = public.folder / "serve"
    token = command("serve", "token", "add", "prometheus", "--folder", folder).stdout.strip()
    assert token not in (folder / "accounts.json").read_text()
    headers = {"authorization": f"Bearer {token}"}
    with public.client(verify=trusting(public.folder), headers=headers) as program:
        assert program.get("/metrics").status_code == 200
        asked = {"verb": "run", "arguments": ["-c1M", "x.dat"]}
        assert program.post("/api/v1/explanations", json=asked).status_code == 403
        command("serve", "token", "remove", "prometheus", "--folder", folder)
        assert program.get("/metrics").status_code == 401


def test_a_stream_outlived_the_token_that_had_opened_it(server: Server) -> None:
    folder = server.folder / "serve"
    token = command("serve", "token", "add", "gone", "--folder", folder).stdout.strip()
    with server.program() as ours, server.client() as theirs:
        theirs.headers["authorization"] = f"Bearer {token}"
        file = str(server.folder / "stream.dat")
        asked = {"verb": "run", "arguments": [*LOAD, "-d600", "--", file]}
        told = ours.post("/api/v1/explanations", json=asked).json()
        begun = ours.post("/api/v1/processes", json={"explanation": told["id"]}).json()
        seconds = (kind for kind, _ in events(theirs, begun["id"]) if kind == "second")
        next(seconds)
        command("serve", "token", "remove", "gone", "--folder", folder)
        assert len([*seconds]) < 30
        assert state(ours, begun["id"]) == "running"
        assert ours.post(f"/api/v1/processes/{begun['id']}/stop").status_code == 202
        wait_for(lambda: state(ours, begun["id"]), "interrupted")


def test_help_and_other_verbs_load_no_library_of_the_web() -> None:
    words = (
        "import sys, fathom.cli.commands.serve; print([one for one in ('fastapi', 'uvicorn', "
        "'starlette', 'pydantic', 'argon2', 'prometheus_client') if one in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_clients_that_say_no_more_are_let_go(silent: list[socket.socket]) -> None:
    for one in silent:
        one.settimeout(40)
        assert one.recv(100) == b""
