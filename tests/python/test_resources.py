"""Cluster resources: what Pacemaker and Windows clusters tell, rows, moves, mails, and marks."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import socket
import ssl
import sys
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import command
from event_logs import Logged, event_log
from fathom import clusters, run
from fathom.cli import main
from fathom.cli.commands import resources as commanding
from fathom.cli.views.resources import file_text
from fathom.clusters import (
    ClusterError,
    ClusterReport,
    Found,
    ResourceEvent,
    ResourceState,
    read_source,
    report_from_json,
    report_of,
    report_to_json,
)
from fathom.clusters import mail as mailing
from fathom.clusters.log_dates import LogDates
from fathom.clusters.mail import MailServer, send
from fathom.clusters.read import read_text_of
from fathom.clusters.shown import html_page, mail_of
from fathom.clusters.times import iso_s, long_s
from fathom.errors import InvalidRequestError
from fathom.report import gather, with_events
from fathom.report import html_page as page_of
from fathom.report.collect.events import _read
from ports import free_port
from reported import figures
from support import time_zone
from tls import certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["certificate"]

DATA = Path(__file__).parent / "data/pacemaker"
NEWEST = datetime(2026, 11, 25, 23, 12, tzinfo=UTC)
OPERATIONAL = "Microsoft-Windows-FailoverClustering/Operational"
PROVIDER = "Microsoft-Windows-FailoverClustering"
EVIL = "\x1b[2Jx<script>alert(1)</script>\r\nBcc: all@example.org"


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    with time_zone("UTC"):
        yield


def recorded() -> ClusterReport:
    """Return the report of a cluster that was recorded: online, move, failure, and a cut cable."""
    names = ("crm_mon.xml", "n1.log", "n2.log")
    return report_of([read_text_of((DATA / one).read_bytes(), "lab", NEWEST) for one in names])


def at(report: ClusterReport, resource: str, field: str) -> str:
    (row,) = [one for one in report.rows if one.resource == resource]
    unix_s: float = getattr(row, field)
    return f"{datetime.fromtimestamp(unix_s, UTC):%H:%M:%S.%f}"[:12]


def test_a_recorded_cluster_of_pacemaker_is_read_whole() -> None:
    found = recorded()
    assert [(one.group, one.resource, one.node, one.status) for one in found.rows] == [
        ("files", "address", "n1", "Started"),
        ("files", "export", "n1", "Started"),
    ]
    assert at(found, "export", "last_online_unix_s") == "23:10:46.454"
    assert at(found, "export", "last_error_unix_s") == "23:10:37.534"
    assert found.rows[0].last_error_unix_s is None
    moves = [(one.group, one.from_node, one.to_node) for one in found.moves]
    assert moves == [("files", "n1", "n2"), ("files", "n2", "n1")]
    # From the loss of the node to the last resource of the group.
    failover = found.moves[1].ended_unix_s - found.moves[1].began_unix_s
    assert failover == pytest.approx(46.454 - 45.118, abs=0.01)
    assert [one.resource for one in found.bad] == ["export"]
    whole = report_of([read_text_of((DATA / "n1.log").read_bytes(), "lab", NEWEST)])
    # Of one node's log alone the groups are not known, and the resources stand for themselves.
    assert {one.group for one in whole.rows} == {"address", "export"}


def test_a_resource_that_fails_at_once_after_its_start_was_up_again() -> None:
    """Starts that were a second apart counted as one, and the move began with the failure."""
    lines = "".join(
        f"Nov 25 23:10:{second} n1 pacemaker-controld [2] (x) notice: Result of {words}: ok | x\n"
        for second, words in (
            ("01.100", "start operation for db on n1"),
            ("01.700", "stop operation for db on n1"),
            ("02.100", "start operation for db on n1"),
            ("09.000", "stop operation for db on n1"),
            ("09.500", "start operation for db on n2"),
        )
    )
    (move,) = report_of([read_text_of(lines.encode(), "lab", NEWEST)]).moves
    assert move.ended_unix_s - move.began_unix_s == pytest.approx(0.5)


def test_crm_mon_alone_tells_the_last_operations_in_both_forms_of_dates() -> None:
    text = (DATA / "crm_mon.xml").read_text()
    failures = (
        '<failures><failure op_key="export_asyncmon_0" node="n2" exitstatus="error" '
        'task="asyncmon" exitreason="Simulated failure" last-rc-change="2026-11-25 23:10:37Z"/>'
        "</failures>"
    )
    found = report_of(
        [read_text_of(text.replace("<status ", f"{failures}<status ").encode(), "lab", NEWEST)]
    )
    assert at(found, "export", "last_online_unix_s") == "23:10:46.000"
    assert at(found, "export", "last_error_unix_s") == "23:10:37.000"


def test_the_journal_is_read_in_two_forms() -> None:
    words = "Result of start operation for db on n1: ok | CIB update 19, graph action confirmed"
    stamp = int(datetime(2026, 3, 4, 5, 6, 7, 500_000, UTC).timestamp() * 1_000_000)
    entry = {"__REALTIME_TIMESTAMP": str(stamp), "MESSAGE": words, "_HOSTNAME": "n1"}
    texts = (
        json.dumps(entry) + "\nnot JSON: Result of\n",
        f"2026-03-04T06:06:07.500000+0100 n1 pacemaker-controld[24]:  notice: {words}\n",
    )
    for text in texts:
        (event,) = read_text_of(text.encode(), "lab", NEWEST).events
        assert (event.resource, event.node, event.kind) == ("db", "n1", "online")
        assert event.at_unix_s == stamp / 1e6


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("start operation for db on n1: ok", "online"),
        ("promote operation for db on n1: ok", "online"),
        ("stop operation for db on n1: ok", "offline"),
        ("monitor operation for db on n1: not running", "failed"),
        ("probe operation for db on n1: not running", None),
        ("monitor operation for db on n1: Cancelled", None),
        ("monitor operation for db on n1: Timed Out after 20s", "failed"),
        ("start operation for db on n1: error (no room)", "failed"),
        ("monitor operation for db on n1: degraded", "degraded"),
        ("monitor operation for db on n1: ok", None),
    ],
)
def test_each_result_of_an_operation_has_its_meaning(words: str, kind: str | None) -> None:
    line = (
        f"Nov 25 23:10:34.634 n1 pacemaker-controld  [28] (log) \tnotice: Result of {words} | x\n"
    )
    events = read_text_of(line.encode(), "lab", NEWEST).events
    assert [one.kind for one in events] == ([] if kind is None else [kind])


def log_s(text: str, newest: datetime) -> float | None:
    """Return the time of a log's only line."""
    dates = LogDates()
    dates.look(f"{text} n1")
    return dates.unix_s(dates.of(text), newest)


def test_the_year_of_a_log_is_that_in_which_it_is_not_to_come() -> None:
    new_year = datetime(2027, 1, 2, tzinfo=UTC)
    assert (
        log_s("Dec 31 23:59:59", new_year)
        == datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    )
    assert (
        log_s("Jan  1 00:00:01", new_year) == datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC).timestamp()
    )
    assert log_s("Feb 30 00:00:01", new_year) is None


def test_a_date_before_all_years_is_none() -> None:
    """It ended with a traceback, where the zone has an offset."""
    for text in ("0001-01-01 00:00:00", "9999-12-31T23:59:59-14:00", "Mon Jan  1 00:00:00 0001"):
        iso_s(text)
        long_s(text)


# Windows clusters.


def logged(number: int, second: int, values: dict[str, str], computer: str = "n1") -> Logged:
    channel = OPERATIONAL if number in (1201, 1204) else "System"
    moment = datetime(2016, 6, 23, 8, 11, second, tzinfo=UTC)
    words = moment.strftime("%Y-%m-%dT%H:%M:%S.0000000Z")
    provider = "Cluster Agents" if number == 1167 else PROVIDER
    return Logged(number, provider, channel, computer, moment.timestamp(), words, values)


HAPPENED = [
    logged(1204, 1, {"ResourceGroup": "SQL"}),
    logged(1201, 3, {"ResourceGroup": "SQL"}, "n2.example.org"),
    logged(1069, 5, {"ResourceName": "Disk 1", "ResourceGroup": "SQL", "ResTypeDll": "x"}),
    logged(1609, 7, {"ResourceName": "Disk 2", "ResourceGroup": "SQL"}),
    logged(1167, 9, {"0": "Cluster Agent: The cluster resource Disk 1 has become degraded."}),
    # Another program's event of the same number.
    logged(1201, 11, {"ResourceGroup": "nobody's"})._replace(
        provider="Print", channel="Application"
    ),
]


def test_an_event_log_of_windows_is_read(tmp_path: Path) -> None:
    pytest.importorskip("evtx", reason="the library evtx is not installed (extra: clusters)")
    (tmp_path / "System.evtx").write_bytes(event_log(HAPPENED))
    found = report_of([read_source(tmp_path / "System.evtx", "sql")])
    kinds = [(one.group, one.resource, one.node, one.kind) for one in found.events]
    assert kinds == [
        ("SQL", "", "n1", "offline"),
        ("SQL", "", "n2", "online"),
        ("SQL", "Disk 1", "n1", "failed"),
        ("SQL", "Disk 2", "n1", "failed"),
        ("SQL", "Disk 1", "n1", "degraded"),
    ]
    (tmp_path / "broken.evtx").write_bytes(event_log(HAPPENED)[:5000])
    with pytest.raises(ClusterError, match=r"broken.evtx"):
        read_source(tmp_path / "broken.evtx", "sql")


def test_an_event_log_names_the_node_that_is_lost_and_not_the_one_that_says_so(
    tmp_path: Path,
) -> None:
    pytest.importorskip("evtx", reason="the library evtx is not installed (extra: clusters)")
    lost = logged(1135, 1, {"NodeName": "n2"}, "n1.example.org")
    (tmp_path / "System.evtx").write_bytes(event_log([lost]))
    found = report_of([read_source(tmp_path / "System.evtx", "sql")])
    told = [(one.group, one.resource, one.node, one.kind, one.text) for one in found.events]
    assert told == [("", "", "n2", "node lost", "lost, as n1 saw it")]


MESSAGES = {
    1201: "The Cluster service successfully brought the clustered role 'SQL' online.",
    1204: "The Cluster service successfully brought the clustered role 'SQL' offline.",
    1069: "Cluster resource 'Disk 1' of type 'Physical Disk' in clustered role 'SQL' failed.",
    1609: "Cluster resource 'Disk 2' in clustered service or application 'SQL' failed.",
    1167: "Cluster Agent: The cluster resource Disk 1 has become degraded.",
}


def as_json() -> bytes:
    rows = [
        {
            "Id": number,
            "Message": text,
            "TimeCreated": f"/Date({1466669472000 + number})/",
            "MachineName": "n1.example.org",
            "ProviderName": PROVIDER,
            "LogName": "System",
        }
        for number, text in MESSAGES.items()
    ]
    # Windows PowerShell writes UTF-16 with a mark.
    return json.dumps(rows).encode("utf-16")


def as_clixml() -> bytes:
    objects = "".join(
        f'<Obj RefId="{number}"><TN RefId="0"><T>System.Diagnostics.Eventing.Reader.EventLogRecord'
        f'</T></TN><Props><I32 N="Id">{number}</I32><S N="ProviderName">{PROVIDER}</S>'
        f'<S N="MachineName">n1</S><DT N="TimeCreated">2016-06-23T10:11:12.{number}000+02:00</DT>'
        f'</Props><MS><S N="Message">{text}_x000A_</S></MS></Obj>'
        for number, text in MESSAGES.items()
    )
    space = "http://schemas.microsoft.com/powershell/2004/04"
    return f'<Objs Version="1.1.0.1" xmlns="{space}">{objects}</Objs>'.encode("utf-8-sig")


@pytest.mark.parametrize("data", [as_json(), as_clixml()], ids=["ConvertTo-Json", "Export-Clixml"])
def test_texts_of_powershell_are_read(data: bytes) -> None:
    found = read_text_of(data, "sql", NEWEST)
    assert {(one.group, one.resource, one.kind) for one in found.events} == {
        ("SQL", "", "online"),
        ("SQL", "", "offline"),
        ("SQL", "Disk 1", "failed"),
        ("SQL", "Disk 2", "failed"),
        ("", "Disk 1", "degraded"),
    }
    assert all(1466669472 < one.at_unix_s < 1466669475 for one in found.events)


def test_groups_and_resources_of_windows_tell_how_they_are_now() -> None:
    rows = [
        {"Name": "SQL", "OwnerNode": {"Name": "n2"}, "State": 0},
        {"Name": "Disk 1", "OwnerGroup": {"Name": "SQL"}, "OwnerNode": "n2", "State": "Failed"},
        {"Name": "Disk 2", "OwnerGroup": "SQL", "OwnerNode": {"Name": "n2"}, "State": 2},
    ]
    states = read_text_of(json.dumps(rows).encode(), "sql", NEWEST)
    found = report_of([states, read_text_of(as_json(), "sql", NEWEST)])
    told = [(one.resource, one.node, one.status) for one in found.rows]
    assert told == [("Disk 1", "n2", "Failed"), ("Disk 2", "n2", "Online")]
    # What the group did is in the rows of its resources.
    assert all(one.last_online_unix_s for one in found.rows)
    (row,) = report_of([states], groups_only=True).rows
    assert (row.group, row.resource, row.node, row.status) == ("SQL", "", "n2", "Online")


ROW = {
    "cluster_type": "Pacemaker",
    "cluster": "lab",
    "group": "files",
    "resource": "export",
    "node": "n1",
    "status": "Started",
}
# They ended with a traceback.
ODD_ROWS = [{**ROW, **odd} for odd in ({"status": 5}, {"cluster": None}, {"group": ["files"]})]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Dear diary",
        b"<html/>",
        b"<pacemaker-result",
        b'<pacemaker-result><status code="102" message="Not connected"/></pacemaker-result>',
        b"[1, 2]",
        b'{"a": 1}',
        b"{",
        b'{"rows": [], "events": [{"nonsense": 1}], "moves": []}',
        b'{"rows": [], "events": [], "moves": [{"cluster": 1}]}',
        *(json.dumps({"rows": [one], "events": [], "moves": []}).encode() for one in ODD_ROWS),
        b"[" * 100_000,
        b"ElfFile\0" + bytes(100),
    ],
)
def test_what_tells_nothing_of_a_cluster_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ClusterError, match=str(tmp_path / "file")):
        read_source(tmp_path / "file", "lab")


def test_entities_of_xml_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    text = (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]><pacemaker-result>'
        '<resources><resource id="&e;" role="Started"/></resources></pacemaker-result>'
    )
    with pytest.raises(ClusterError):
        read_text_of(text.encode(), "lab", NEWEST)


# What becomes of it.


def test_since_leaves_out_what_was_before(tmp_path: Path) -> None:
    for name in ("n1.log", "n2.log", "crm_mon.xml"):
        shutil.copy(DATA / name, tmp_path)
        os.utime(tmp_path / name, (NEWEST.timestamp(), NEWEST.timestamp()))
    words = [f"lab={tmp_path / one}" for one in ("crm_mon.xml", "n1.log", "n2.log")]
    done = command("resources", *words, "--since", "2026-11-25T23:10:40Z")
    assert (done.returncode, done.stdout.count("moved from")) == (0, 1), done.stdout
    assert "none failed or degraded, 1 move." in done.stdout
    done = command("resources", *words, "--since", "2026-11-25T23:10:00Z", "--format", "csv")
    assert done.returncode == 5
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["Resource"] for row in rows] == ["address", "export"]
    assert rows[1]["LastError"] == "2026-11-25 23:10:37"
    assert rows[1]["LastDegraded"] == "NA"
    assert command("resources", *words, "--since", "yesterday").returncode == 3


def evil() -> ClusterReport:
    formula = '=HYPERLINK("http://evil.example","x")'
    states = [ResourceState(EVIL, formula, EVIL, EVIL, EVIL)]
    events = [
        ResourceEvent(EVIL, formula, EVIL, node, kind, when, EVIL)  # type: ignore[arg-type]
        for node, kind, when in (
            (EVIL, "offline", 5.0),
            (f"{EVIL}2", "online", 6.0),
            (EVIL, "online", 9.0),
        )
    ]
    return report_of([Found("Pacemaker", EVIL, states, events)])


def test_names_of_others_are_text_wherever_they_are_shown(tmp_path: Path) -> None:
    found = evil()
    page = html_page(found)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    cells = next(iter(csv.DictReader(io.StringIO(file_text(found, Path("x.csv"))))))
    assert cells["ResourceGroup"].startswith("'=")
    assert "\n" not in cells["Resource"]
    mail = mail_of(found, "me@example.org", ["you@example.org"])
    read = message_from_bytes(mail.as_bytes(), policy=policy.default)
    assert read["Bcc"] is None
    assert read["To"] == "you@example.org"
    place = tmp_path / "evil.json"
    place.write_text(json.dumps(report_to_json(found)))
    done = command("resources", place)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\nBcc" not in done.stdout
    assert report_from_json(report_to_json(found)) == found


@pytest.mark.parametrize(
    "address", ["me", "a@b\nBcc: c@d", "a@b, c@d", "<a@b>", "@b", "a b@c", "é@b"]
)
def test_an_address_is_an_address_and_no_header(address: str) -> None:
    with pytest.raises(InvalidRequestError, match="no address"):
        mail_of(evil(), "me@example.org", [address])


class Inbox:
    """Takes mails, as an SMTP server has it do."""

    def __init__(self) -> None:
        """Begin with none."""
        self.mails: list[tuple[list[str], bytes]] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: object) -> str:  # noqa: N802
        """Keep a mail."""
        self.mails.append((envelope.rcpt_tos, envelope.content))  # type: ignore[attr-defined]
        return "250 taken"


def test_a_mail_is_taken_by_a_real_server_through_tls_and_read_back(
    certificate: Path,
    tmp_path: Path,
) -> None:
    controller = pytest.importorskip("aiosmtpd.controller", reason="aiosmtpd is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    inbox = Inbox()
    server = controller.Controller(
        inbox, hostname="localhost", port=free_port(), tls_context=context, require_starttls=True
    )
    server.start()
    try:
        port = server.port
        for name in ("crm_mon.xml", "n1.log"):
            shutil.copy(DATA / name, tmp_path)
        words = ("resources", f"lab={tmp_path / 'crm_mon.xml'}", "--smtp", f"localhost:{port}")
        mail = ("--mail-from", "lab@example.org", "--mail-to", "ops@example.org")
        # A certificate that nobody trusts is refused, and nothing is sent.
        done = command(*words, *mail)
        assert (done.returncode, "did not take the mail" in done.stderr) == (1, True), done.stderr
        assert inbox.mails == []
        done = command(*words, *mail, "--smtp-ca", certificate)
        assert done.returncode == 0, done.stderr
    finally:
        server.stop()
    ((recipients, content),) = inbox.mails
    assert recipients == ["ops@example.org"]
    read = message_from_bytes(content, policy=policy.default)
    assert read["Subject"] == "Cluster resources: 2 resources of 1 cluster: none failed or degraded"
    text, page = (read.get_body((kind,)) for kind in ("plain", "html"))
    assert text is not None
    assert page is not None
    assert "lab/files/export: Started on n1; LastOnline 2026-11-25 23:10:46" in text.get_content()
    expected = html_page(report_of([read_source(tmp_path / "crm_mon.xml", "lab")]))
    assert page.get_content().replace("\r\n", "\n").strip() == expected.strip()


@pytest.mark.parametrize(
    ("host", "user"),
    [("a" * 70 + ".example", None), ("..example", None), ("localhost", "\xe9")],
)
def test_a_name_that_no_mail_server_can_have_ended_in_a_traceback(
    host: str, user: str | None
) -> None:
    server = MailServer(host, 25, user, None)
    with pytest.raises(ClusterError, match="the mail server"):
        send(server, mail_of(evil(), "me@example.org", ["you@example.org"]))


def test_a_mail_server_that_answers_byte_by_byte_was_waited_for_for_days(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mailing, "_MOST_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = MailServer("127.0.0.1", server.getsockname()[1])
        with pytest.raises(ClusterError, match="has not come to an end"):
            send(asked, mail_of(evil(), "me@example.org", ["you@example.org"]))


def test_a_report_was_not_mailed_where_its_file_could_not_be_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(clusters, "send", lambda _server, message: sent.append(message["To"]))
    shutil.copy(DATA / "crm_mon.xml", tmp_path)
    # Its folder went behind the first look.
    monkeypatch.setattr(commanding, "check_place", lambda *_args, **_more: None)
    words = ["resources", str(tmp_path / "crm_mon.xml"), "--output", str(tmp_path / "no/x.csv")]
    mail = ["--smtp", "localhost", "--mail-from", "a@example.org", "--mail-to", "b@example.org"]
    monkeypatch.setattr(sys, "argv", ["fathom", *words, *mail])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 1, said.err
    assert (sent, "none failed or degraded" in said.out) == (["b@example.org"], True)


def test_a_server_without_tls_gets_no_mail(tmp_path: Path) -> None:
    controller = pytest.importorskip("aiosmtpd.controller", reason="aiosmtpd is not installed")
    inbox = Inbox()
    server = controller.Controller(inbox, hostname="localhost", port=free_port())
    server.start()
    try:
        port = server.port
        shutil.copy(DATA / "crm_mon.xml", tmp_path)
        words = ("resources", tmp_path / "crm_mon.xml", "--smtp", f"localhost:{port}")
        done = command(*words, "--mail-from", "a@example.org", "--mail-to", "b@example.org")
    finally:
        server.stop()
    assert (done.returncode, "offers no TLS" in done.stderr) == (1, True), done.stderr
    assert inbox.mails == []


# Marks on the time of a run.


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return a real run's result whose intervals from 0.2 to 0.8 s are empty, and its begin."""
    folder = tmp_path_factory.mktemp("stalled")
    raw = json.loads(json.dumps(dict(run(f"-c1M -b4K -r -o1 -d1 -W0 -D100 -L {folder}/x.dat").raw)))
    span = raw["time_spans"][0]
    for thread in span["threads"]:
        for target in thread["targets"]:
            for at, cell in enumerate(target["read"]["series"]["cells"]):
                # A host that is busy may make a run stall by itself.
                ios = 0 if 2 <= at < 8 else 100
                cell.update({"ios": ios, "bytes": ios << 12, "latency_ns_sum": ios})
                cell["latency_ns_max"] = min(ios, 1)
    (folder / "result.json").write_text(json.dumps(raw))
    return folder / "result.json", span["began_unix_ns"] / 1e9


def failover(began_s: float) -> ClusterReport:
    events = [
        ResourceEvent("lab", "files", "address", "n1", "online", began_s - 99),
        ResourceEvent("lab", "", "", "n1", "node lost", began_s + 0.2),
        ResourceEvent("lab", "files", "address", "n2", "online", began_s + 0.8),
    ]
    return report_of([Found("Pacemaker", "lab", [], events)])


def test_a_stall_and_a_move_stand_together(stalled: tuple[Path, float], tmp_path: Path) -> None:
    place, began_s = stalled
    told = tmp_path / "resources.json"
    told.write_text(json.dumps(report_to_json(failover(began_s))))
    material = with_events(gather(None, [str(place)]), [told])
    (run_shown,) = material.sides[0].runs
    assert [(round(one.at_s, 1), one.words) for one in run_shown.happened] == [
        (0.2, "n1 node lost"),
        (0.8, "files: n1 to n2"),
    ]
    first = material.sides[0].advice[0]
    when = f"{datetime.fromtimestamp(began_s + 0.8, UTC):%H:%M:%S}"
    assert "IOPS were 0 for 0.6 s, from second 0.2 of the measured time on" in first.evidence
    assert f"the group files moved from n1 to n2 at {when}" in first.evidence
    assert "files: n1 to n2" in json.dumps(figures(material)["time-series"].views[0].spec)
    assert first.title in page_of(material)
    assert "--events" in material.command


def test_what_happened_at_another_time_marks_nothing(
    stalled: tuple[Path, float], tmp_path: Path
) -> None:
    place, began_s = stalled
    told = tmp_path / "resources.json"
    told.write_text(json.dumps(report_to_json(failover(began_s - 5000))))
    before = gather(None, [str(place)])
    after = with_events(before, [told])
    assert after.sides[0].advice == before.sides[0].advice
    assert "Nothing happened to the cluster" in after.sides[0].notes[-1]
    with pytest.raises(ClusterError, match="no JSON of fathom resources"):
        with_events(before, [place])


def test_events_with_the_mark_of_an_editor_were_no_json(tmp_path: Path) -> None:
    told = tmp_path / "resources.json"
    told.write_text(json.dumps(report_to_json(failover(0.0))), encoding="utf-8-sig")
    assert _read(told) == failover(0.0)
