"""``fathom schedule``: units and cron lines hold any name and word, and are undone."""

from __future__ import annotations

import errno
import os
import pwd
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom.cli.commands import schedule
from fathom.errors import FathomError, InvalidRequestError
from fathom.schedule import (
    Schedule,
    check_calendar,
    cron_line,
    escaped_name,
    plan_schedule,
    remove_schedule,
    service_text,
    timer_text,
    unit_name,
    write_schedule,
    written_schedules,
)
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

ANALYZE, ESCAPE = map(shutil.which, ("systemd-analyze", "systemd-escape"))
EVIL = "a b/%n$HOME \"q\" 'r' \\ ; `id` {x} ü*\\"


def planned(folder: Path, name: str = "nightly", when: str = "03:30", *words: str) -> Schedule:
    shown = "/bin/echo"
    return plan_schedule(name, when, words, program=[shown], folder=folder)


@pytest.mark.parametrize(
    ("when", "calendar", "cron"),
    [
        ("daily", "daily", "0 0 * * *"),
        ("Hourly", "hourly", "0 * * * *"),
        ("3:05", "*-*-* 03:05:00", "5 3 * * *"),
        ("monday 23:59", "Mon *-*-* 23:59:00", "59 23 * * 1"),
        ("sun 00:00", "Sun *-*-* 00:00:00", "0 0 * * 7"),
        ("*-*-1..7 18:00", "*-*-1..7 18:00", None),
    ],
)
def test_times_are_said_to_systemd_and_to_cron(
    when: str, calendar: str, cron: str | None, tmp_path: Path
) -> None:
    plan = planned(tmp_path, "x", when, "run")
    assert (plan.calendar, plan.cron) == (calendar, cron)
    if cron is None:
        with pytest.raises(InvalidRequestError, match="cron has no words"):
            cron_line(plan)
    if ANALYZE:
        done = subprocess.run(
            [ANALYZE, "calendar", plan.calendar], capture_output=True, check=False
        )
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("name", "when", "words", "told"),
    [
        ("", "daily", ["run"], "1 to 64 characters"),
        ("x" * 65, "daily", ["run"], "1 to 64 characters"),
        ("\u6e2c" * 60, "daily", ["run"], "too long for a unit"),
        ("x\ny", "daily", ["run"], "control characters"),
        ("x", "daily\nExecStart=/bin/sh", ["run"], "is no time"),
        ("x", "25:00;rm", ["run"], "is no time"),
        ("x", "", ["run"], "is no time"),
        ("x", "never", ["run"], "is no time"),
        ("x", "25:00", ["run"], "is no time"),
        ("x", "daily", ["run", "a\nb"], "control characters"),
        ("x", "daily", ["run", "\udcff"], "no UTF-8"),
        ("x", "daily", ["run", "--overwrite"], "typed for one run"),
        ("x", "daily", ["run", "--allow-write=abc"], "typed for one run"),
        ("x", "daily", ["run", "--store", "postgresql://me:secret@db/lab"], "has a password"),
    ],
)
def test_what_cannot_be_written_safely_is_refused(
    name: str, when: str, words: list[str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequestError, match=told) as error:
        planned(tmp_path, name, when, *words)
    assert "secret" not in str(error.value)


def test_names_are_escaped_as_systemd_does_and_no_two_alike() -> None:
    assert escaped_name("a b") == "a\\x20b"
    names = ["a/b", "a-b", "a\\x2fb", "../a", "a b", "%i", "a@b"]
    found = {unit_name(one, "timer") for one in names}
    assert len(found) == len(names)
    assert not any("/" in one or "%" in one or "@" in one for one in found)
    if ESCAPE:
        for one in ("a b", "%n$x", 'q"\\', "\u00fc*;"):
            done = subprocess.run([ESCAPE, "--", one], capture_output=True, text=True, check=True)
            assert done.stdout.strip() == escaped_name(one)


def test_systemd_takes_the_units_with_any_words(tmp_path: Path) -> None:
    folder = tmp_path / (EVIL.replace("/", "") + " ")
    folder.mkdir()
    plan = plan_schedule(
        EVIL, "daily", ["run", EVIL, "-", ""], program=["/bin/echo"], folder=folder,
        environment={"FATHOM_STORE": f"/x/{EVIL}"},
    )  # fmt: skip
    assert [len(one.splitlines()) for one in (service_text(plan), timer_text(plan))] == [9, 11]
    paths = write_schedule(plan, tmp_path / "units")
    if ANALYZE is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([ANALYZE, "verify", *paths], capture_output=True, text=True, check=False)
    # Other units of the machine are not our subject.
    assert not [line for line in done.stderr.splitlines() if "fathom-" in line], done.stderr


def test_a_shell_runs_the_line_of_cron_with_the_same_words(tmp_path: Path) -> None:
    plan = plan_schedule(
        "x", "daily", ["run", EVIL], program=["/usr/bin/printf", "[%s]"], folder=tmp_path,
        environment={"V": EVIL},
    )  # fmt: skip
    line = cron_line(plan)
    assert "\n" not in line
    assert line.startswith("0 0 * * * cd ")
    # cron itself takes the backslash before a percent sign away.
    shell = line.removeprefix("0 0 * * * ").replace("\\%", "%")
    assert "%" not in line.replace("\\%", "")
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout == f"[run][{EVIL}]"


def test_what_was_written_is_listed_replaced_and_removed(tmp_path: Path) -> None:
    plan = planned(tmp_path, "nightly", "03:30", "run", "x.dat")
    service, timer = write_schedule(plan, tmp_path)
    (listed,) = written_schedules(tmp_path)
    assert (listed.timer, listed.calendar) == (timer, "*-*-* 03:30:00")
    assert listed.command == "/bin/echo run x.dat"
    with pytest.raises(InvalidRequestError, match="--overwrite"):
        write_schedule(plan, tmp_path)
    write_schedule(plan, tmp_path, overwrite=True)
    assert remove_schedule("nightly", tmp_path) == [timer, service]
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(InvalidRequestError, match="no schedule nightly"):
        remove_schedule("nightly", tmp_path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_left_a_service_without_its_timer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, overwrite: bool
) -> None:
    if overwrite:
        write_schedule(planned(tmp_path, "nightly", "03:30", "run", "x.dat"), tmp_path)
    before = {one.name: one.read_text() for one in tmp_path.iterdir()}
    write = Path.write_text
    written: list[Path] = []

    def until_full(path: Path, text: str, encoding: str) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        return write(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", until_full)
    plan = planned(tmp_path, "nightly", "04:30", "run", "y.dat")
    with pytest.raises(FathomError, match="No space left"):
        write_schedule(plan, tmp_path, overwrite=overwrite)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ["--notify", "https://hooks.example:8443/T0/s3cret"],
        ["--notify=https://hooks.example:8443?key=s3cret&to=%22s3cret"],
        ["--notify", 'HTTPS://hooks.example:8443/"s3cret\\s3cret"s3cret'],
        ["--notify", "mailto:a@b", "--notify", "https://hooks.example:8443/$s3cret"],
    ],
)
def test_a_list_of_schedules_showed_the_whole_address_of_a_webhook(
    words: list[str], tmp_path: Path
) -> None:
    write_schedule(planned(tmp_path, "nightly", "03:30", *words, "--store", "x"), tmp_path)
    (listed,) = written_schedules(tmp_path)
    assert "s3cret" not in listed.command
    assert "://hooks.example:8443/***" in listed.command
    assert listed.command.endswith(('***" --store x', "*** --store x"))


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_units_of_others_are_left_alone(kind: str, tmp_path: Path) -> None:
    units = tmp_path / "units"
    units.mkdir()
    place = units / "fathom-nightly.timer"
    mine = tmp_path / "mine"
    mine.write_text("[Timer]\n")
    if kind == "file":
        place.write_text("[Timer]\n")
    elif kind == "link":
        place.symlink_to(mine)
    else:
        place.mkdir()
    plan = planned(tmp_path, "nightly", "daily", "run")
    with pytest.raises(InvalidRequestError, match="left alone"):
        write_schedule(plan, units, overwrite=True)
    with pytest.raises(InvalidRequestError, match="left alone"):
        remove_schedule("nightly", units)
    assert written_schedules(units) == []
    assert mine.read_text() == "[Timer]\n"
    assert [one.name for one in units.iterdir()] == [place.name]


def test_the_command_prints_writes_lists_and_removes(tmp_path: Path) -> None:
    given = ["nightly", "--when", "03:30", "--folder", "units"]
    measured = ["--", "run", "-c1M", "-d1", "x y.dat"]
    done = command("schedule", "add", *given, "--print", *measured, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"x y.dat"' in done.stdout
    assert f"WorkingDirectory={tmp_path}" in done.stdout
    assert not (tmp_path / "units").exists()
    done = command("schedule", "add", *given, "--cron", *measured, cwd=tmp_path)
    words = shlex.split(done.stdout)
    assert words[:5] == ["30", "3", "*", "*", "*"]
    assert words[-4:] == ["run", "-c1M", "-d1", "x y.dat"]
    done = command("schedule", "add", *given, *measured, cwd=tmp_path)
    assert "enable --now fathom-nightly.timer" in done.stdout
    assert "03:30" in command("schedule", "list", "--folder", "units", cwd=tmp_path).stdout
    done = command("schedule", "remove", "nightly", "--folder", "units", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("removed")) == (0, 2)
    done = command("schedule", "add", "x", "--print", "--", "rnu", cwd=tmp_path)
    assert (done.returncode, "did you mean run?" in done.stderr) == (3, True)


def test_a_schedule_names_the_file_of_credentials_and_has_nothing_that_is_in_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "nas 1"
    file.write_text("username=anna\npassword=s3cret of anna\n")
    file.chmod(0o600)
    load = ["-d1", "smb://nas/share/x.dat"]
    add = ["schedule", "add", "nightly", "--folder", "units"]
    kept = f"FATHOM_CREDENTIALS={file}"
    for words, environment, told in (
        (["--credentials", "nas 1", "--", "run", *load], {}, kept),
        (["--", "run", *load], {"FATHOM_CREDENTIALS": "nas 1"}, kept),
        (["--", "run", "--credentials", "nas 1", *load], {}, f'"{file}"'),
        (["--", "run", "--credentials=nas 1", *load], {}, f'"--credentials={file}"'),
        (["--", "run", *load], {"FATHOM_USER": "anna", "FATHOM_PASSWORD": "s3cret of anna"}, ""),
    ):
        done = command(*add, "--overwrite", *words, cwd=tmp_path, environment=environment)
        assert done.returncode == 0, done.stderr
        cron = command(*add, "--cron", *words, cwd=tmp_path, environment=environment)
        written = [one.read_text() for one in (tmp_path / "units").iterdir()]
        assert any(told in one for one in written), written
        assert "s3cret" not in "".join([*written, done.stdout, done.stderr, cron.stdout])
        assert ("FATHOM_PASSWORD is not written" in done.stderr) is (told == "")
    file.chmod(0o644)
    for words in (["--credentials", "nas 1", "--", "run"], ["--", "run", "--credentials=nas 1"]):
        refused = command(*add, "--print", *words, *load, cwd=tmp_path)
        assert (refused.returncode, "chmod 600" in refused.stderr) == (3, True), refused.stderr


def hold_to_systemd(tmp_path: Path, taken: Sequence[str], refused: Sequence[str]) -> None:
    """Check that systemd takes and refuses these times, and that we do, too."""
    if ANALYZE is None:
        pytest.skip("systemd-analyze is not installed")
    for when in (*taken, *refused):
        done = subprocess.run([ANALYZE, "calendar", when], capture_output=True, check=False)
        assert (done.returncode == 0) is (when in taken), when
        if when in taken:
            planned(tmp_path, "x", when, "run")
        else:
            with pytest.raises(InvalidRequestError, match="is no time"):
                planned(tmp_path, "x", when, "run")


def test_an_hour_that_is_none_passed_behind_a_day(tmp_path: Path) -> None:
    taken = ("mon 05:00", "mon, 05:00", "mon..fri 3:30", "2026-01-01 04:00", "mon 05:00,07:00")
    refused = ("mon 25:00", "mon 5:00:61", "2026-01-01 25:00", "*-*-* 24:00", "3", "2026")
    hold_to_systemd(tmp_path, taken, refused)


def test_words_and_hours_are_refused_where_systemd_would_and_only_there(tmp_path: Path) -> None:
    taken = ("minutely", "quarterly", "annually", "semiannually", "yearly", "Monday", "sun", "3:5")
    refused = ("never", "tues", "24:00", "3:60", "03:30:61", "fortnightly")
    hold_to_systemd(tmp_path, taken, refused)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add", "x", "--", "schedule", "list"], "and no schedule"),
        (["add", "x", "--", "rnu"], "did you mean run"),
        (["add", "x", "--cron", "--print", "--", "run", "x"], "choose one"),
        (["add", "x", "--", "serve"], "runs until it is stopped"),
        (["add", "x", "--", "run", "-c1M", "--bogus", "x"], "unknown option '--bogus'"),
        (["add", "x", "--", "run", "none.dat"], "'none.dat' does not exist"),
        (["add", "x", "--", "sweep", "--depht", "1", "-c1M", "x"], "--depht"),
        (["add", "x", "--", "trend", "12", "--alrt"], "--alrt"),
        (["list", "--folder", "none"], "there is no folder none"),
        (["remove", "x", "--folder", "."], "there is no schedule x"),
        # What the run itself would refuse each night is refused at once.
        (["add", "x", "--", "run", "-c1M", "--require", "p99<1s", "x"], "without -L: add it"),
        (["add", "x", "--", "run", "-c1M", "--metrics-file", "x.txt", "x"], "with .prom"),
        (["add", "x", "--", "run", "-c1M", "--metrics-file", "no/x.prom", "x"], "no folder no"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], told: str, tmp_path: Path) -> None:
    done = command("schedule", *words, cwd=tmp_path)
    assert (done.returncode, told in done.stderr) == (3, True), done.stderr
    assert not [*tmp_path.iterdir()]


def test_a_load_that_the_guard_would_refuse_each_night_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "theirs.dat").write_bytes(os.urandom(1 << 20))
    for verb in (["run"], ["sweep", "--depth", "1..2"]):
        words = [*verb, "-w100", "theirs.dat"]
        done = command("schedule", "add", "x", "--folder", "units", "--", *words, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "neither diskspd nor fathom made" in done.stderr
    assert not (tmp_path / "units").exists()


def test_a_store_in_the_home_folder_was_looked_for_in_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FATHOM_STORE", "~/lab.sqlite")
    given = ("nightly", "--when", "03:30", "--print", "--", "run", "-d1", "-b4K", "-c1M", "x.dat")
    shown = command("schedule", "add", *given, cwd=tmp_path).stdout
    assert f"FATHOM_STORE={tmp_path}/home/lab.sqlite" in shown


def said_by_cron(command: str, undone: str) -> str:
    """Return what cron's do_command.c has a shell run; crons differ in what a backslash undoes."""
    found, escaped = "", False
    for one in command:
        if one == "%" and not escaped:
            break
        found = found[:-1] + one if escaped and one in undone else found + one
        escaped = one == "\\" and not escaped
    return found


@pytest.mark.parametrize("undone", ["%", "%\\"])
def test_a_backslash_before_a_percent_sign_ended_the_line_of_cron(
    undone: str, tmp_path: Path
) -> None:
    words = ["a\\%b", "a\\\\b", "\\", "%\\\\%'\\"]
    program = ["/usr/bin/printf", "[%s]"]
    plan = plan_schedule("x", "daily", words, program=program, folder=tmp_path)
    shell = said_by_cron(cron_line(plan).removeprefix("0 0 * * * "), undone)
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"[{one}]" for one in words)


@pytest.mark.parametrize("when", ["monthly 03:30", "sunny 3:30", "daily 03:30", "every day"])
def test_a_word_that_begins_as_a_day_was_taken_for_it(when: str, tmp_path: Path) -> None:
    """``monthly 03:30`` came each Monday; systemd refuses all of these."""
    with pytest.raises(InvalidRequestError, match="is no time"):
        planned(tmp_path, "x", when, "run")
    for day in ("tue", "Tues", "tuesday"):
        assert planned(tmp_path, "x", f"{day} 3:30", "run").calendar == "Tue *-*-* 03:30:00"
    assert planned(tmp_path, "x", "daily UTC", "run").calendar == "daily UTC"


def test_a_dollar_sign_in_the_path_of_the_program_was_doubled(tmp_path: Path) -> None:
    program = tmp_path / "a$b%c d"
    shutil.copy("/bin/true", program)
    plan = plan_schedule("x", "daily", ["a$b"], program=[str(program)], folder=tmp_path)
    assert f'ExecStart="{tmp_path}/a$b%%c d" "a$$b"\n' in service_text(plan)
    paths = write_schedule(plan, tmp_path)
    if ANALYZE is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([ANALYZE, "verify", *paths], capture_output=True, text=True, check=False)
    assert "not executable" not in done.stderr


def test_a_list_of_schedules_ended_a_command_at_a_separator_of_lines(tmp_path: Path) -> None:
    write_schedule(planned(tmp_path, "x", "daily", "run", "a\u2028b\x85c"), tmp_path)
    (listed,) = written_schedules(tmp_path)
    assert listed.command == '/bin/echo run "a\u2028b\x85c"'


def test_a_schedule_saved_elsewhere_and_knew_no_workloads_where_variables_led_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FATHOM_STORE", raising=False)
    monkeypatch.delenv("FATHOM_WORKLOADS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config/fathom/workloads"
    own.mkdir(parents=True)
    given = ("nightly", "--print", "--", "run", "-d1", "-b4K", "-c1M", "x.dat")
    shown = command("schedule", "add", *given, cwd=tmp_path).stdout
    assert f"FATHOM_STORE={tmp_path}/data/fathom/runs.sqlite\n" in shown
    assert f"FATHOM_WORKLOADS={own}\n" in shown


def test_a_verb_of_a_group_was_scheduled_with_options_that_it_does_not_have(
    tmp_path: Path,
) -> None:
    for words in (["lun", "remove", "--bogus"], ["store", "compct"]):
        done = command("schedule", "add", "x", "--cron", "--", *words, cwd=tmp_path)
        assert (done.returncode, words[-1] in done.stderr) == (3, True), done.stderr
    done = command("schedule", "add", "x", "--cron", "--", "store", "compact", cwd=tmp_path)
    assert done.stdout.endswith("store compact\n"), done.stderr


def test_a_timer_that_ends_with_the_login_said_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "_LINGERING", tmp_path)
    user = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setattr(pwd, "getpwuid", lambda _user: SimpleNamespace(pw_name=user))
    cases = ((1000, False, True), (1000, True, False), (0, False, False))
    for number, is_lingering, expected in cases:
        monkeypatch.setattr(os, "geteuid", lambda number=number: number)
        (tmp_path / user).unlink(missing_ok=True)
        if is_lingering:
            (tmp_path / user).touch()
        add = ["add", "nightly", "--when", "03:30", "--folder", str(tmp_path / "units")]
        done = CliRunner().invoke(schedule.app, [*add, "--overwrite", "--", "list"])
        assert (done.exit_code, "loginctl enable-linger" in done.output) == (0, expected)


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("postgresql://u:pw@h/db", "put it into ~/.pgpass"),
        ("--store=postgresql://u:pw@h/db", "put it into ~/.pgpass"),
        ("iscsi://u:pw@h/iqn.2026-11.org.lab:a/1", "name that with --credentials"),
        ("https://h/x?token=secret", "would keep: leave it out"),
    ],
)
def test_any_password_was_to_be_put_into_the_file_of_postgresql(
    word: str, instead: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequestError) as told:
        planned(tmp_path, "x", "daily", "run", word)
    assert instead in str(told.value)
    assert not {"pw", "secret"} & {*str(told.value).replace("/", ":").split(":")}


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("*-02-30 03:00", "never comes"),
        ("2020-01-01 04:00", "never comes"),
        ("0 3 * * *", "systemd does not read"),
        ("*-13-01", "systemd does not read"),
    ],
)
def test_a_time_that_does_not_exist_was_written_into_a_timer(
    when: str, told: str, tmp_path: Path
) -> None:
    words = ["add", "x", "--folder", "units", "--when", when, "--", "run", "-c1M", "x.dat"]
    done = command("schedule", *words, cwd=tmp_path)
    assert (done.returncode, told in done.stderr) == (3, True), done.stderr
    assert not (tmp_path / "units").exists()


def test_a_time_is_taken_where_there_is_no_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    check_calendar("*-02-30")


def test_the_command_that_undoes_a_name_with_a_dash_was_no_command(tmp_path: Path) -> None:
    words = ["add", "--folder", "units", "--", "-x", "run", "-c1M", "x.dat"]
    done = command("schedule", *words, cwd=tmp_path)
    (undo,) = [one for one in done.stdout.splitlines() if "schedule remove" in one]
    said = shlex.split(undo.partition("&& fathom ")[2])
    done = command(*said, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("removed")) == (0, 2), done.stderr


def test_a_user_without_a_home_folder_got_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    def unknown(_number: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for words in (["list"], ["remove", "x"]):
        done = CliRunner().invoke(schedule.app, words)
        assert (done.exit_code, "no home folder: name" in done.stderr) == (3, True), done.output
