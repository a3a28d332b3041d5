"""From a profile to DiskSpd's command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.errors import InvalidRequestError
from fathom.request import Request
from fathom.tools._arguments import file_argument
from fathom.tools._units import sized
from fathom.tools.diskspd.option_words import option_words
from fathom.tools.load import Load
from fathom.tools.notes import Note, Notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom._request_parts import Profile

__all__ = ["to_arguments", "words_of"]

_CACHING = {"cached": "", "unbuffered": "u", "remote_unbuffered": "r"}
_FLUSH = {
    "view_of_file": "v",
    "non_volatile_memory": "n",
    "non_volatile_memory_no_drain": "i",
}
_PRIORITY = {"very_low": "-I1", "low": "-I2", "normal": ""}
# Events of the kernel have their names in capitals.
_CLOCKS = {
    "clock_monotonic": "q",
    "clock_cycles": "c",
    "clock_coarse": "s",
    "paged_memory": "p",
}
_EFFICIENCY = {"fast_first": "p", "fill_fast": "P", "slow_first": "e", "fill_slow": "E"}
_ALL = 100
_OUTSTANDING = 2  # What DiskSpd has without -o.


def to_arguments(load: Load) -> tuple[list[list[str]], list[Note]]:
    """Return one command line for each time span, and what a command line cannot say.

    All targets of a command line have one pattern, and its time spans are one; profiles may have
    more.
    """
    notes = Notes()
    spans = load.profile["time_spans"]
    if len(spans) > 1:
        notes.remark("TimeSpan", "a command line has one time span: there is one for each")
    options = [*_whole(load.profile, notes), *option_words(load.request)]
    if load.for_one_run:
        words = "no part of a load: type it behind the command, each time"
        notes.remark(" ".join(load.for_one_run), words)
    lines = []
    for span in spans:
        first = span["targets"][0]
        for other in span["targets"][1:]:
            differing = [key for key in first if key != "path" and other[key] != first[key]]
            if differing:
                words = f"{', '.join(differing)} differ from {first['path']}: keep the XML"
                notes.load(
                    other["path"], f"a command line has one pattern for all targets; {words}"
                )
        made = [*_target(span, first, notes), *_span(span, notes), *options]
        names = (file_argument(one["path"]) for one in span["targets"])
        lines.append([*filter(None, made), *names])
    for kind, letter in (("start", "s"), ("finish", "f"), ("wait", "r"), ("stop", "p")):
        if load.profile["events"][kind]:
            lines = [[f"-y{letter}{load.profile['events'][kind]}", *line] for line in lines]
    return lines, notes.found


def words_of(request: Request) -> list[str]:
    """Return arguments that request exactly this; how its result is shown is no part of it.

    Raises
    ------
    InvalidRequestError
        If no command line says it, as it has several time spans, or targets that differ.

    """
    plain = replace(request, profile=_as_shown_by_default(request.profile))
    lines, notes = to_arguments(Load((), plain, plain.to_dict()["profile"]))
    words: list[str] = []
    if len(lines) == 1:
        # Behind the dashes a name stands for itself, whatever it begins with.
        names = [one.path for one in plain.profile.time_spans[0].targets]
        words = [*lines[0][: -len(names)], "--", *names]
        again = Request.of_words(words)
        if replace(again, profile=_as_shown_by_default(again.profile)) == plain:
            return words
    why = "; ".join(one.words for one in notes) or "it has settings that no arguments stand for"
    raise InvalidRequestError(
        f"this request cannot be part of an experiment, which keeps arguments: {why}"
    )


def _as_shown_by_default(profile: Profile) -> Profile:
    return replace(profile, format="text", progress_every_ios=0, verbose=False)


def _whole(profile: Mapping[str, Any], notes: Notes) -> Iterable[str]:
    """Return what stands in no time span."""
    yield f"-:{profile['experiment_flags']}" if profile["experiment_flags"] else ""
    yield f"-R{profile['format']}" if profile["format"] != "text" else ""
    yield "-v" if profile["verbose"] else ""
    yield "-vs" if profile["wait_statistics"] else ""
    yield f"-P{profile['progress_every_ios']}" if profile["progress_every_ios"] else ""
    for name, is_asked in (profile["tracing"] or {}).items():
        yield f"-e{_CLOCKS.get(name, name.upper())}" if is_asked else ""
    if profile["precreate"] != "none":
        notes.remark("PrecreateFiles", "a command line makes files with -c alone: keep the XML")


def _span(span: Mapping[str, Any], notes: Notes) -> Iterable[str]:
    yield f"-d{span['duration_s']}"
    yield f"-W{span['warm_up_s']}"
    if span["cool_down_s"]:
        yield f"-C{span['cool_down_s']}"
    if span["random_seed"]:
        yield f"-z{span['random_seed']}"
    yield "-L" if span["measure_latency"] else ""
    yield f"-D{span['interval_ms']}" if span["interval_series"] else ""
    yield "-n" if span["disable_affinity"] else ""
    yield "-x" if span["alternate_completion"] else ""
    yield f"-F{span['thread_count']}" if span["thread_count"] else ""
    yield f"-O{span['request_count']}" if span["request_count"] else ""
    yield from _cpus(span["cpus"], notes)
    yield from _cpu_order(span["cpu_order"])
    yield from _tuning(span["tuning"])
    yield from _stop(span["stop"])
    yield from _faults(span["faults"])


def _cpus(cpus: Sequence[Mapping[str, Any]], notes: Notes) -> Iterable[str]:
    if any(cpu["index"] is None for cpu in cpus):
        notes.remark("Affinity", "a command line cannot name a whole group of CPUs: keep the XML")
    elif cpus:
        yield "-a" + ",".join(f"g{cpu['group']},{cpu['index']}" for cpu in cpus)


def _cpu_order(order: Mapping[str, Any]) -> Iterable[str]:
    letters = "c" if order["core_first"] else ""
    letters += "s" if order["span_groups"] else ""
    letters += _EFFICIENCY.get(order["efficiency"], "")
    yield f"-a{letters}" if letters else ""
    yield "-aup" if order["efficiency"] == "unordered" else ""


def _tuning(tuning: Mapping[str, Any]) -> Iterable[str]:
    if ring := tuning["ring"]:
        kind, count = next(iter(ring["batch"].items()))
        plain = "" if ring["registered_buffers"] else "n"
        yield f"-u{plain}{count}{'p' if kind == 'percent' else ''}"
    if tuning["completion_depth"]:
        yield f"-oc{tuning['completion_depth']}"
    if tuning["buffer_separation"]:
        yield "-bsn" if tuning["buffer_separation"] == "system_default" else "-bsp"


def _stop(stop: Mapping[str, Any]) -> Iterable[str]:
    if stop["bytes"] is not None:
        yield f"--stop-bytes={sized(stop['bytes'])}"
    if stop["ios"] is not None:
        yield f"--stop-ios={stop['ios']}"
    yield "--stop-pass" if stop["pass"] else ""
    if steady := stop["steady"]:
        percents = [f"{steady[f'{name}_milli'] / 1000:g}" for name in ("range", "slope")]
        yield f"--stop-steady={steady['intervals']}:{':'.join(percents)}"
    if known := stop["confidence"]:
        percents = [f"{known[f'{name}_milli'] / 1000:g}" for name in ("level", "precision")]
        yield f"--stop-confidence={':'.join(percents)}"
    if stop["interval_ms"] is not None:
        yield f"--stop-interval={stop['interval_ms']}"


def _faults(faults: Mapping[str, Any]) -> Iterable[str]:
    if on_error := faults["on_error"]:
        is_count = isinstance(on_error, dict)
        yield "--on-error=" + (f"count={on_error['count']}" if is_count else on_error)
    for name, word in (("io_timeout_s", "io-timeout"), ("reconnect_s", "reconnect")):
        yield f"--{word}={faults[name]}" if faults[name] is not None else ""


def _target(span: Mapping[str, Any], target: Mapping[str, Any], notes: Notes) -> Iterable[str]:
    yield f"-c{sized(target['create_bytes'])}" if target["create_bytes"] else ""
    yield f"-b{sized(target['block_bytes'])}"
    yield from _range(target)
    yield from _order(target)
    yield f"-w{target['write_percent']}" if target["write_percent"] else ""
    if not span["thread_count"]:
        yield f"-t{target['threads']}"
    if not span["request_count"] or target["outstanding"] != _OUTSTANDING:
        yield f"-o{target['outstanding']}"
    yield from _caches(target)
    yield from _pace(target)
    yield from _data(target["write_data"])
    yield "-l" if target["large_pages"] else ""
    yield _PRIORITY[target["priority"]]
    yield from _extensions(target["extensions"])
    if target["thread_targets"] or target["weight"] != 1:
        notes.load("Weight, ThreadTarget", "a command line has no weights of targets: keep the XML")


def _range(target: Mapping[str, Any]) -> Iterable[str]:
    base, limit = target["base_bytes"], target["limit_bytes"]
    if base:
        length = f":{sized(limit - base)}" if limit else ""
        yield f"-B{sized(base)}{length}"
    elif limit:
        yield f"-f{sized(limit)}"
    letters = {"random": "r", "sequential": "s", "temporary": "t"}
    hints = "".join(letter for name, letter in letters.items() if target["hints"][name])
    yield f"-f{hints}" if hints else ""


def _order(target: Mapping[str, Any]) -> Iterable[str]:
    access = target["access"]
    align = "" if access["align_bytes"] == target["block_bytes"] else sized(access["align_bytes"])
    if access["random_percent"]:
        yield f"-r{align}"
        yield f"-rs{access['random_percent']}" if access["random_percent"] < _ALL else ""
    else:
        yield f"-s{'i' if access['interlocked'] else ''}{align}"
    if target["distribution"]:
        kind, ranges = next(iter(target["distribution"].items()))
        parts = [f"{one['io_percent']}/{sized(one['length'])}" for one in ranges if one["length"]]
        yield f"-rd{'pct' if kind == 'percent' else 'abs'}{':'.join(parts)}"
    if target["thread_stride_bytes"]:
        yield f"-T{sized(target['thread_stride_bytes'])}"
    yield "-p" if target["parallel_same_offset"] else ""


def _caches(target: Mapping[str, Any]) -> Iterable[str]:
    letters = _CACHING[target["caching"]]
    letters += "m" if target["memory_mapped"] else ""
    letters += "w" if target["write_through"] else ""
    yield f"-S{letters}" if letters else ""
    yield f"-N{_FLUSH[target['flush']]}" if target["flush"] else ""


def _pace(target: Mapping[str, Any]) -> Iterable[str]:
    if rate := target["rate"]:
        yield f"-g{rate['iops']}i" if "iops" in rate else f"-g{rate['bytes_per_ms']}"
    if target["burst_ios"]:
        yield f"-i{target['burst_ios']}"
        yield f"-j{target['think_ms']}"


def _data(data: Mapping[str, Any]) -> Iterable[str]:
    if data["source"] == "zero":
        yield "-Z"
    elif data["source"] != "counting_pattern":
        buffer = data["source"]["buffer"]
        yield f"-Z{sized(buffer['bytes'])}{',' if buffer['file'] else ''}{buffer['file'] or ''}"
    # Behind the source, which would take its place.
    yield "-Zr" if data["fresh_random"] else ""


def _extensions(more: Mapping[str, Any]) -> Iterable[str]:
    yield f"--ratio={more['ratio']}" if more["ratio"] else ""
    for kind in ("read", "write"):
        yield _pattern(kind, more[f"{kind}_pattern"])
    for name in ("block_mix", "read_block_mix", "write_block_mix"):
        parts = [f"{sized(one['block_bytes'])}:{one['io_percent']}" for one in more[name]]
        yield f"--{name.replace('_', '-')}={','.join(parts)}" if parts else ""
    if sync := more["sync"]:
        yield f"--{'fdatasync' if sync['data_only'] else 'fsync'}={sync['every_writes']}"
    for name in ("trim", "compress", "dedupe"):
        if more[f"{name}_percent"] is not None:
            yield f"--{name}={more[f'{name}_percent']}"


def _pattern(kind: str, pattern: Mapping[str, Any] | None) -> str:
    if pattern is None:
        return ""
    text = f"--{kind}-pattern={pattern['order']}"
    for name, word in (("block_bytes", "block"), ("align_bytes", "align")):
        text += f",{word}={sized(pattern[name])}" if pattern[name] else ""
    if one := pattern["range"]:
        length = f":{sized(one['length_bytes'])}" if one["length_bytes"] else ""
        text += f",range={sized(one['base_bytes'])}{length}"
    return text
