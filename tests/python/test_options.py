"""The options of all verbs: one grammar, old spellings, suggestions, and examples that work."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import SHORT_RUNS, command
from documented import blocks, commands
from event_logs import Logged, event_log
from fabricated import fabricated
from fathom.cli.grammar import (
    EXAMPLES,
    KINDS,
    LETTERS,
    RENAMED,
    bytes_of,
    mib_of,
    modern_arguments,
    percent_of,
    seconds_of,
    suggest_option,
    whole_seconds_of,
)
from fathom.cli.verbs import VERBS, Passing, load
from fathom.cli.views.runs import local_time
from fathom.store import Store
from reported import saved_sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"
# Words that say a unit or a thing that another word says already.
FORBIDDEN = re.compile(r"--(?:.*-(?:mib|gib|seconds|minutes|percent|ms)|seconds|force|quiet|name)")
# What the help must not make a reader turn into other units.
UNITS = re.compile(r"\b(?:in|so many) (?:seconds|minutes|MiB|GiB|bytes)\b")


def verbs() -> Iterator[tuple[str, Any]]:
    """Return each verb, and those within verbs."""
    waiting = [(name, load(name)) for name in VERBS]
    while waiting:
        name, verb = waiting.pop()
        parts: dict[str, Any] = getattr(verb, "commands", {})
        waiting += [(f"{name} {part}", one) for part, one in parts.items()]
        if not parts:
            yield name, verb


def options() -> list[tuple[str, str, Any, Any]]:
    """Return the table: verb, long word, option, and the verb itself."""
    return [
        (name, next(one for one in option.opts if one.startswith("--")), option, verb)
        for name, verb in verbs()
        for option in verb.params
        if option.param_type_name == "option" and option.name != "help"
    ]


def inconsistencies() -> list[str]:
    """Return what the table of all options says in two ways."""
    found: list[str] = []
    kinds: dict[str, set[str]] = {}
    letters: dict[str, set[str]] = {}
    for name, long, option, verb in options():
        takes = "" if option.is_flag else str(option.metavar or option.type.name)
        kinds.setdefault(long, set()).add(takes)
        if not option.is_flag and option.metavar is None and option.type.name != "choice":
            found.append(f"{name} {long}: nothing says what follows it")
        if FORBIDDEN.fullmatch(long) or UNITS.search(option.help or ""):
            found.append(f"{name} {long}: a unit or a word of its own: {option.help}")
        for letter in (one for one in option.opts if not one.startswith("--")):
            letters.setdefault(letter, set()).add(long)
            if isinstance(verb, Passing):
                found.append(f"{name} {letter}: letters are DiskSpd's there")
        if not (option.help or "").endswith("."):
            found.append(f"{name} {long}: its help is no sentence")
        if str(option.default).startswith("-") and not isinstance(option.show_default, str):
            found.append(f"{name} {long}: the default {option.default} says nothing")
    # The form of tables and of files are both told by --format.
    several = {long: one for long, one in kinds.items() if len(one) > 1 and long != "--format"}
    found += [f"{long}: {sorted(one)}" for long, one in several.items()]
    # What is a percentage of writes in one verb is a permission to write in no other.
    found += [f"{letter}: {sorted(one)}" for letter, one in letters.items() if len(one) > 1]
    return found


def test_the_options_of_all_verbs_are_one_grammar() -> None:
    assert len(options()) > 120
    assert inconsistencies() == []


def test_each_letter_stands_for_its_option_wherever_that_is() -> None:
    assert len(LETTERS) == len({*LETTERS.values()}) == 10
    for name, long, option, verb in options():
        if long in LETTERS and not isinstance(verb, Passing):
            assert LETTERS[long] in option.opts, (name, long)
    assert {*LETTERS} <= {long for _name, long, *_ in options()}


def test_what_follows_an_option_is_told_of_options_that_there_are() -> None:
    assert {*KINDS} <= {long for _name, long, *_ in options()}


@pytest.mark.parametrize(("name", "old"), RENAMED)
def test_an_old_spelling_goes_on_with_a_note(
    name: str, old: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new, value = RENAMED[name, old]
    assert (name, new) in {(one, long) for one, long, *_ in options()}
    is_flag = new == "--overwrite"
    given = [old] if is_flag else [old, "64"]
    assert modern_arguments(name, given) == ([new] if is_flag else [new, value("64")])
    assert modern_arguments(name, ["--", old]) == ["--", old]
    if not is_flag:
        assert modern_arguments(name, [f"{old}=64"]) == [f"{new}={value('64')}"]
    assert f"note: {old} is now {new}" in capsys.readouterr().err


def test_old_spellings_work(tmp_path: Path) -> None:
    done = command("assess", "--seconds", "9", "--size-mib", "64", tmp_path)
    assert (done.returncode, done.stderr.count("note:")) == (3, 2)
    assert "--time is at least 10s" in done.stderr
    done = command("sweep", "--write", "0,50", "--dry-run", "-c1M", tmp_path / "x.dat")
    assert (done.returncode, done.stderr) == (0, "note: --write is now --writes\n")
    assert "write: 0, 50" in done.stdout
    done = command("import", "--format", "?", "x")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7200), ("90", 90), ("1.5m", 90)]
)
def test_times_are_said_as_people_say_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == whole_seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sweep --block 4K --duration 99999999999999999 x", "--duration': '99999999999999999'"),
        ("sweep --block 4K --warm-up 9999999999 x", "--warm-up': '9999999999'"),
        ("assess --time 99999999999999h .", "--time': '99999999999999h'"),
        ("assess --steady 999999999m .", "--steady': '999999999m'"),
        ("tune --longest 9999999999 x", "--longest': '9999999999'"),
        ("density --time 9999999999 new", "--time': '9999999999'"),
        (f"assess --time {'9' * 5000} .", "99'"),
    ],
)
def test_a_time_beyond_any_life_was_taken_or_ended_in_the_systems_words(
    words: str, said: str, tmp_path: Path
) -> None:
    done = command(*words.split(), "--dry-run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert f"{said} is longer than 10 years: write 90s, 5m or 2h" in done.stderr


def test_an_end_behind_all_calendars_is_said_to_be_there() -> None:
    assert local_time(1e12) == local_time(1e300) == "behind the year 9999"
    assert local_time(-1e12) == local_time(-1e300) == "before the year 1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sweep --threads 1..99999999999", "--threads 1..99999999999: 99999999999 is too many"),
        ("sweep --threads 1,65537", "--threads 1,65537: 65537 is too many"),
        ("sweep --depth 1..99999999999", "--depth 1..99999999999: 99999999999 is too many"),
        ("sweep --vary=-t=1,65537", "-t 1,65537: 65537 is too many"),
        ("tune --threads 1..99999999999", "--threads 1..99999999999: 99999999999 is too many"),
        (f"sweep --depth {'9' * 5000}", "99 is too many"),
        (f"sweep --block 4K..{'9' * 30}", "is too large"),
    ],
)
def test_a_plan_counted_cells_that_no_engine_takes(words: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_bytes(bytes(1 << 20))
    for more in ([], ["--dry-run"]):
        done = command(*words.split(), *more, "-r", "-b4K", "x.dat", cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (3, True), done.stderr


def test_percentages_are_said_with_and_without_their_sign() -> None:
    assert percent_of("2") == percent_of("2%") == percent_of(" 2 % ") == 2.0
    for wrong in ("nan", "inf", "1e5", "two", "%", ""):
        done = command("repeat", "--dry-run", f"--precision={wrong}", "-c1M", "x.dat")
        assert (done.returncode, "write 2 or 2%" in done.stderr) == (3, True)


def test_sizes_are_said_as_everywhere() -> None:
    assert (mib_of("10G"), mib_of("64M"), mib_of("1048576")) == (10240, 64, 1)


def test_prepare_refused_sizes_that_assess_takes(tmp_path: Path) -> None:
    sizes = {"4MiB": 4 << 20, "4mb": 4 << 20, "0.5M": 1 << 19, "999999999999999999": 10**18 - 1}
    assert {size: bytes_of(size) for size in sizes} == sizes
    path = tmp_path / "new.dat"
    assert command("prepare", "fill", "--size", "1MiB", str(path)).returncode == 0
    assert path.stat().st_size == 1 << 20
    for wrong in ("0.3", "1Q"):
        done = command("prepare", "fill", "--size", wrong, str(path))
        assert (done.returncode, "--size" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lst"], "'list'"),
        (["list", "--lable", "x"], "--label"),
        (["sweep", "--dry-rn", "--depth", "1,2", "x.dat"], "did you mean --dry-run"),
        (["run", "--lable=x", "-c1M", "x.dat"], "did you mean --label"),
        (["run", "sql-oltp"], "did you mean sql-oltp-90 or sql-oltp-70"),
        (["run", "sql-oltp", "x.dat"], "did you mean sql-oltp-90 or sql-oltp-70"),
        (["run", "-b4K", "scrach.dat"], "did you mean scratch.dat"),
    ],
)
def test_what_is_misspelt_is_told_with_what_was_meant(
    words: list[str], meant: str, tmp_path: Path
) -> None:
    (tmp_path / "scratch.dat").write_bytes(b"")
    done = command(*words, cwd=tmp_path)
    assert done.returncode in (1, 3)
    assert meant in done.stderr
    assert "Traceback" not in done.stderr
    # Nothing of it is saved as a run that failed.
    assert command("list", "--json").stdout == "[]\n"


@pytest.mark.parametrize("verb", ["sweep", "tune", "repeat"])
def test_a_saved_run_was_taken_for_a_new_file_of_1_gib(verb: str, tmp_path: Path) -> None:
    varied = ["--depth", "1,2"] if verb == "sweep" else []
    done = command(verb, *varied, "@3", cwd=tmp_path)
    assert done.returncode == 3
    assert "there is no file @3: what run 3 requested is run again by fathom run @3" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_grow_was_refused_as_a_misspelt_grow() -> None:
    tried = []
    for _, _, option, verb in options():
        for word in (*option.opts, *option.secondary_opts):
            suggest_option([word], verb)
            tried.append(word)
    assert "--no-grow" in tried


GROUP = {"ResourceGroup": "SQL"}
# What makes an example small enough for a test.
SMALLER = (
    (r"-c1G", "-c1M"),
    (r"-d\d+", "-d1 -W0"),
    (r"--size (1|4)G", "--size 64M"),
    (r"--time 5m", "--time 12s"),
    (r"--duration 5s", "--duration 1s --warm-up 0s"),
    (r"--duration 3s -c64M (.*) '{host}", r"--duration 2s -c16M \1 'x-{host}"),
    (r"^fathom tune", "fathom tune --dry-run"),
    (r"^fathom sweep --block", "fathom sweep --dry-run --block"),
    (r"^fathom repeat", "fathom repeat --pilot 2 --most 2"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    with Store(folder / "runs.sqlite") as store:
        saved_sweep(store, {"depth": "1,2"})
        for at in range(12):
            result = fabricated(rates=1000.0 + at % 3, latency_ns=100.0, path="x.dat", depth=8)
            store.runs.save(result, ["-o8", "x.dat"], label="oltp")
        store.baselines.set("golden", "1")
    (folder / "old.txt").write_text(
        command("run", "--no-save", "--json", "-c1M", "-d1", "-W0", folder / "x.dat").stdout
    )
    with Store(folder / "old.sqlite"):
        pass
    typed = "import io, sys; sys.stdin = io.StringIO('a long password')"
    for kind, name in (("user", "bea"), ("token", "grafana")):
        command("serve", kind, "add", name, "--folder", "lab", cwd=folder, before=typed)
    command("schedule", "add", "nightly", "--folder", "units", "--", "run", "x.dat", cwd=folder)
    pacemaker = Path(__file__).parent / "data/pacemaker"
    shutil.copy(pacemaker / "crm_mon.xml", folder)
    shutil.copy(pacemaker / "n1.log", folder / "pacemaker.log")
    online = Logged(1201, "Clustering", "System", "n1", 1e9, "2001-09-09T01:46:40Z", GROUP)
    (folder / "System.evtx").write_bytes(event_log([online]))
    return folder


# What takes longest is run by the pages, as it is made small here.
SHOWN = {
    "assess": ("tutorial.md", "fathom assess --time 12s --size 64M ."),
    "scale": (
        "tasks/fleet.md",
        "fathom scale --fleet local:2 --duration 2s -c16M -b8K -r -Sh 'x-{host}.dat'",
    ),
}
ALL_EXAMPLES = [(name, one) for name, several in EXAMPLES.items() for one in several]


@pytest.mark.parametrize(("name", "example"), ALL_EXAMPLES, ids=[one for _, one in ALL_EXAMPLES])
def test_each_example_of_the_help_works(name: str, example: str, place: Path) -> None:
    assert example.startswith(f"fathom {name} ") or example == f"fathom {name}"
    for pattern, small in SMALLER:
        example = re.sub(pattern, small, example)
    page, shown = SHOWN.get(name, ("", ""))
    if example == shown:
        assert example in commands_of(page)
        return
    environment = {"FATHOM_STORE": str(place / "runs.sqlite")}
    typed = f"import io, sys; sys.stdin = io.StringIO('a long password'){SHORT_RUNS}"
    words = shlex.split(example)[1:]
    done = command(*words, cwd=place, environment=environment, before=typed)
    # A gate on noise may not be able to tell.
    allowed = (0, 7) if "--fail-if" in example else (0, 1) if name == "doctor" else (0,)
    assert done.returncode in allowed, (example, done.stdout, done.stderr)


def commands_of(page: str) -> list[str]:
    """Return the commands of a page that ``test_docs_examples`` runs."""
    run = [
        one for one in blocks(DOCS / page) if one.reason_not_run is None and one.kind == "console"
    ]
    return [one.command for block in run for one in commands(block)]


def test_what_pages_run_of_the_examples_is_an_example() -> None:
    small = [example for _name, example in ALL_EXAMPLES]
    for pattern, smaller in SMALLER:
        small = [re.sub(pattern, smaller, one) for one in small]
    assert {shown for _page, shown in SHOWN.values()} <= {*small}


def test_each_help_has_an_example() -> None:
    without = {name for name, _verb in verbs()} - {*EXAMPLES}
    # Each writes whole devices, adopts what an example cannot have, or needs a target's server.
    lun = {f"lun {one}" for one in ("setup", "create", "map", "connect", "list", "remove")}
    # And these serve until they are ended.
    fleet = {"fleet start", "fleet join"}
    assert without == {"prepare adopt", "prepare condition"} | lun | fleet
    for name in EXAMPLES:
        assert EXAMPLES[name][0] in " ".join(command(*name.split(), "--help").stdout.split())


NO_MEASURING = "it measures nothing that another tool could"
# Why a verb that measures or writes lacks an option that others of its kind have.
LACKS = {
    ("assess", "--runner"): "its cells rest on stop rules and intervals that our engine alone has",
    ("prepare look", "--runner"): NO_MEASURING,
    ("prepare fill", "--runner"): "what is written is checked with our own stamps",
    ("prepare adopt", "--runner"): NO_MEASURING,
    ("prepare condition", "--runner"): "the engine's guard has the last word for each piece",
    ("prepare look", "--label"): "it is found by its target, which is its name",
    ("prepare fill", "--label"): "it is found by its target, which is its name",
    ("prepare adopt", "--label"): "it saves nothing",
    ("prepare condition", "--label"): "it is found by its target, which is its name",
    ("prepare look", "--dry-run"): "it writes nothing",
    ("prepare fill", "--dry-run"): "prepare look says what is there, and --size what will be",
    ("prepare adopt", "--dry-run"): "it writes nothing",
    ("run", "--precondition"): "one run is made at once: prepare condition stands before it",
    ("sweep", "--precondition"): "each cell leaves another state: it would hold for the first one",
    ("tune", "--precondition"): "each load leaves another state: it would hold for the first one",
    ("compare", "--precondition"): "A leaves another state for B: it would hold for the first one",
    ("assess", "--precondition"): "--steady preconditions, and measures the steady state",
    **{
        (f"prepare {one}", "--precondition"): "prepare condition is the option as a verb"
        for one in ("look", "fill", "adopt", "condition")
    },
    ("run", "--resume"): "one run is made at once; @12 makes a stored one again",
    ("prepare look", "--resume"): "it writes nothing, and a look is made again",
    ("prepare adopt", "--resume"): "it is done at once",
}
SESSION_OPTIONS = ("--runner", "--label", "--dry-run", "--precondition", "--resume")
SESSIONS = ("run", "sweep", "tune", "repeat", "compare", "assess")


def test_each_verb_that_measures_has_the_options_of_all_or_a_reason() -> None:
    have = {(name, long) for name, long, *_ in options()}
    names = [name for name, _ in verbs() if name in SESSIONS or name.startswith("prepare ")]
    assert len(names) == 10
    wanted = {(name, option) for name in names for option in SESSION_OPTIONS}
    assert wanted - have == {*LACKS}
    assert all(len(why) > 10 for why in LACKS.values())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "-c1M", "-b4K", "-w10", "-d2", "-W1", "x.dat"], "1 run, about 0:03"),
        (["run", "sql-oltp-70", "-d1", "-W0", "-c8M", "x.dat"], "1 run, about 0:01"),
        (["repeat", "-c1M", "-d2", "-W1", "x.dat"], "10 runs, about 0:30; their spread"),
        (["compare", "--run", "-o1", "-o2", "-c1M", "-d2", "-W1", "x.dat"], "20 interleaved runs"),
        (["sweep", "--depth", "1,2", "-c1M", "x.dat"], "2 cells"),
        (["tune", "-r", "-c1M", "x.dat"], "about"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_a_dry_run_tells_the_time_and_makes_nothing(
    words: list[str], told: str, tmp_path: Path
) -> None:
    verb, *rest = words
    done = command(verb, "--dry-run", *rest, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert told in done.stdout
    done = command(verb, "--dry-run", "--json", *rest, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert isinstance(json.loads(done.stdout), dict)
    assert not (tmp_path / "x.dat").exists()
    assert "there is no store" in command("list").stdout


def test_a_dry_run_of_preconditioning_makes_no_store(tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_bytes(bytes(1 << 20))
    words = ["prepare", "condition", "--wipc", "--dry-run", "--rate", "100"]
    done = command(*words, "x.dat", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "WIPC of " in done.stdout
    done = command(*words, "--json", "x.dat", cwd=tmp_path)
    assert json.loads(done.stdout)["done"] == []
    assert "there is no store" in command("list").stdout


def test_a_dry_run_tells_what_the_guard_would_refuse(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine " * 1000)
    words = ["-b4K", "-w100", "-d1", "-W0", "mine.txt"]
    done = command("run", "--dry-run", *words, cwd=tmp_path)
    assert (done.returncode, "refused: " in done.stdout) == (2, True)
    done = command("run", "--dry-run", "--overwrite", *words, cwd=tmp_path)
    assert (done.returncode, "refused: " in done.stdout) == (0, False)
