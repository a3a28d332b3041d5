"""DiskSpd's text: versions 2.0.12 to 2.3, and what our own ``diskspd`` prints.

A source may hold several results, whole or as single tables, and prose between them, as blogs do.
The forms are those of DiskSpd's ``ResultParser.cpp`` (https://github.com/microsoft/diskspd), held
to recordings of 2.2 and to five documents with results of 2.0.12 and 2.0.15. Where an editor has
put a whole result into one line, ``_scanned`` reads it.

Each line is read by the first rule that takes it; a line that no rule takes is tried together with
the next one, since editors wrap lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom._numbers import whole_number
from fathom.imported.model import ImportedDirection, ImportedLatency, Reading, UnparsedLine
from fathom.tools._lines import Line, decimal, is_rule, lines_of, nanoseconds
from fathom.tools.diskspd._draft import Draft, Head
from fathom.tools.diskspd._read_load import read_setting
from fathom.tools.diskspd._scanned import scrambled_results
from fathom.tools.diskspd._script import is_script_alone, script_results
from fathom.tools.diskspd._tables import WHAT, columns_of, cpu_row, io_figures, percent_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["looks_like_diskspd_text", "read_diskspd_text"]

_LOOKS = re.compile(
    r"Results for timespan|^[^\w\n]{0,40}thread \|\s+bytes|I/O per s \||%-ile \||"
    r"iops, [\d.]+ MB/sec,",
    re.MULTILINE,
)
_COMMAND = re.compile(r"Command Line: ?(.*)")
_BARE = re.compile(r"(?:PS [^>]*> ?)?(\S*diskspd(?:64)?(?:\.exe)? -\w.*)", re.IGNORECASE)
_RESULTS = re.compile(r"Results for timespan ?([0-9]{1,9}):?")
_TITLE = re.compile(r"(Total|Read|Write) IO", re.IGNORECASE)
_PERCENT_HEAD = re.compile(r"%-ile ?\|(.*)")
_PERCENT_ROW = re.compile(r"(min|max|\d+th|\d-nines) ?\|(.*)")
_ABOUT = re.compile(r"(?:Total l|L)atency distribution:(.*)|total:|(Response times) of .*:")
# Dots of progress may stand before it in its line.
_LOG = re.compile(r"\.*\d{4}-\d\d-\d\dT[\d:.]+: .*")
_TOTALS = re.compile(r"(?:type|write|read|total) ?\|(.*)")
_OTHERS = re.compile(r"(sync|trim) ?\|(.*)")
_TAIL = re.compile(
    r"(Engine|CPU time per I/O|Warnings|Verification|The first faults|ETW|Not a device's figures|"
    r"chosen with reads before the load|"
    r"(?:End of|Ends of|Beneath|Errors of|Network of|I/Os of) timespan [0-9]{1,9})\b.*:.*"
)
# Sections whose title has words behind its colon.
_TITLED = ("Verification", "Beneath", "I/Os of")
_SPAN = re.compile(r"[^:;]*\btimespan ([0-9]{1,9})\b")
_RESPONSE = re.compile(r"Response time counts from .*|an I/O that had to wait .*")
_FACTS = re.compile(
    r"(actual test time|thread count|proc count|request count|total test time):"
    r" ?([\d.]+)s?"
)
_FILE = re.compile(r"(.*?) ?\(([^()]*)\)")
_NO_RESULT = "The test was interrupted before the measurements began. No results are displayed."
_MOST_JOINED = 3
_OTHER_CELLS = 8
_MODES = {
    "Totals:": "totals",
    "Wait Statistics": "waits",
    "Effective IO Distributions": "places",
}
_HEADS = ("head", "system")
_OTHERS_TITLE = "Syncs and trims of timespan"


def looks_like_diskspd_text(text: str) -> bool:
    """Whether a text holds something of a result of DiskSpd."""
    return _LOOKS.search(text) is not None


def read_diskspd_text(data: bytes) -> Reading:
    """Return all results of a text, and each line that is of none of them."""
    reader = _Reader(lines_of(data.decode("utf-8", "replace")))
    return reader.read()


class _Reader:
    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.head = Head()
        self.heads = [self.head]
        self.drafts: list[Draft] = []
        self.span = 1
        # What the next rows belong to.
        self.mode = ""
        self.direction = "total"
        self.columns: tuple[str, ...] = ()
        self.percent_columns: list[str] = []
        self.about: str | None = None
        self.tail = ""
        # The result that a section behind all of them is about.
        self.behind: Draft | None = None
        # What verbose runs say before and between results.
        self.log: set[int] = set()

    def read(self) -> Reading:
        at = 0
        while at < len(self.lines):
            at += self._step(at)
        kept = [draft for draft in self.drafts if draft.tells_anything]
        told = script_results(self.lines)
        mine = {number for draft in kept for number in (*draft.lines, *draft.head.lines)}
        mine |= self.log
        mine |= {line.number for line in self.lines if is_script_alone(line.text)}
        results = [draft.finished() for draft in kept]
        spans = [one.lines for one in results if one.lines]
        unparsed = [
            UnparsedLine(
                line.number,
                line.raw,
                is_within=any(first <= line.number <= last for first, last in spans),
            )
            for line in self.lines
            if line.number not in mine and not is_rule(line.text)
        ]
        folded = scrambled_results([line.raw for line in self.lines])
        return Reading((*results, *folded, *told), tuple(unparsed))

    def _step(self, at: int) -> int:
        """Read the line at a place, with those behind it that belong to it; return how many."""
        line = self.lines[at]
        if is_rule(line.text):
            if not line.text:
                self.behind = None
                self.tail = "" if self.tail != "ETW" else self.tail
            return 1
        if _LOG.fullmatch(line.text):
            self.log.add(line.number)
            return 1
        if self._is_taken(line.text, line.raw):
            self._keep(line)
            return 1
        for count in range(2, _MOST_JOINED + 1):
            several = self.lines[at : at + count]
            if len(several) < count or is_rule(several[-1].text):
                break
            if self._is_taken(" ".join(one.text for one in several), ""):
                for one in several:
                    self._keep(one)
                return count
        return 1

    def _keep(self, line: Line) -> None:
        """Say to which result a line belongs: to the one under way, or to the next one's head."""
        if self.drafts and self.drafts[-1].head is self.head:
            self.drafts[-1].lines.append(line.number)
        else:
            self.head.lines.append(line.number)

    def _is_taken(self, text: str, raw: str) -> bool:
        """Take a line, unless it has a number that is none, or that no figure holds."""
        try:
            return self._take(text, raw)
        except (ArithmeticError, ValueError):
            return False

    def _take(self, text: str, raw: str) -> bool:
        rules: tuple[Callable[[str], bool], ...] = (
            self._begins,
            self._fact,
            self._table,
            self._row,
            self._tails,
        )
        if self.tail and (self.tail != "ETW" or raw[:1].isspace()) and not self._begins(text):
            self._draft().more.setdefault(self.tail, []).append(text)
            return True
        if any(rule(text) for rule in rules):
            return True
        if self.mode == "system":
            return read_setting(self.head.host, text)
        return self.mode == "head" and read_setting(self.head.span(self.span), text)

    def _draft(self) -> Draft:
        """Return the result under way; a bare table begins one."""
        if self.behind is not None:
            return self.behind
        if not self.drafts or self.drafts[-1].head is not self.head:
            self._begin_draft(1)
        return self.drafts[-1]

    def _turn_to(self, title: str) -> None:
        """Take what follows for the time span that a title of our own text names."""
        found = _SPAN.match(title)
        own = [draft for draft in self.drafts if draft.head is self.head]
        named = (draft for draft in own if found and draft.span == int(found[1]))
        self.behind = next(named, None)

    def _begin_draft(self, span: int) -> None:
        self.head.is_used = True
        self.drafts.append(Draft(self.head, span, lines=[]))
        self.mode, self.tail, self.behind = "", "", None

    def _begin_head(self) -> None:
        if self.head.is_used or self.head.spans:
            self.head = Head()
            self.heads.append(self.head)
        self.mode, self.span, self.tail, self.behind = "head", 1, "", None

    def _begins(self, text: str) -> bool:
        """Take what begins a head or a result."""
        if match := _COMMAND.fullmatch(text) or _BARE.fullmatch(text):
            self._begin_head()
            self.head.command_line = match[1].strip()
            # A line that only repeats what is to follow is no part of a result.
            self.head.lines.clear()
        elif text.startswith("Input parameters:") and len(text) < 20:  # noqa: PLR2004 - Alone.
            if self.head.is_used or self.head.spans:
                self._begin_head()
            self.mode = "head"
        elif match := _RESULTS.fullmatch(text):
            self._begin_draft(int(match[1]))
        elif text == _NO_RESULT and self.drafts:
            self.drafts[-1].is_interrupted = True
        else:
            return False
        return True

    def _fact(self, text: str) -> bool:
        """Take a line of the head of results, or of the system."""
        if text == "System information:":
            self.mode = "system"
            return True
        if self.mode in _HEADS:
            if match := re.fullmatch(r"timespan: ?([0-9]{1,9})", text):
                self.span = int(match[1])
                self.head.span(self.span)
                return True
            if match := re.fullmatch(r"(computer name|start time): ?(.*)", text):
                self.head.system[match[1]] = match[2]
                return True
            # A command line that was wrapped goes on with its next option.
            if not self.head.spans and re.match(r"-[a-zA-Z#]", text):
                self.head.command_line = f"{self.head.command_line} {text}"
                return True
        match = _FACTS.fullmatch(text)
        if match is None or not self.drafts:
            return False
        draft = self._draft()
        if match[1] == "actual test time":
            draft.measured_s = decimal(match[2])
        elif match[1] == "thread count":
            draft.threads = round(float(match[2]))
        draft.more[match[1]] = match[2]
        return True

    def _table(self, text: str) -> bool:
        """Take a table's title or head."""
        if match := _TITLE.fullmatch(text):
            self.direction = match[1].lower()
            # A second table of the same kind is of another result.
            if self.direction in self._draft().directions:
                self._begin_head()
            self._draft().begun.add(self.direction)
            self.mode, self.columns = "io", ()
        elif match := _ABOUT.fullmatch(text):
            self.about = match[2] or (match[1] or "").strip() or None
            if match[2]:
                self._turn_to(text)
            self.mode = "percentiles"
        elif match := _PERCENT_HEAD.fullmatch(text):
            cells = [cell.split("(")[0].strip().lower() for cell in match[1].split("|")]
            if any(cell not in ("read", "write", "total") for cell in cells):
                return False
            self.percent_columns, self.mode = cells, "percentiles"
        elif text in _MODES or text.startswith(_OTHERS_TITLE):
            self.mode = _MODES.get(text, "others")
            if self.mode == "others":
                self._turn_to(text)
        else:
            return self._cpu_head(text) or self._columns(text)
        return True

    def _cpu_head(self, text: str) -> bool:
        cells = tuple(cell.strip().lower() for cell in text.split("|"))
        if cells[-4:] != ("usage", "user", "kernel", "idle") or "cpu" not in cells:
            return False
        self.columns, self.mode = cells, "cpu"
        return True

    def _columns(self, text: str) -> bool:
        found = columns_of(text)
        if found is None or self.mode not in ("io", "totals"):
            return text.startswith("type | bytes | count") or (
                self.mode == "waits" and text.startswith("thread | completion wait")
            )
        # The head of a table with a file at its end is whole only with it: lines are wrapped.
        if found[-1] != "file" and self.mode == "io":
            return False
        self.columns = found
        return True

    def _row(self, text: str) -> bool:
        rules: dict[str, Callable[[str], bool]] = {
            "cpu": self._cpu,
            "io": self._io,
            "percentiles": self._percentile,
            "totals": self._total,
            "others": self._other,
            "waits": lambda text: self._more("wait statistics", r"\d+ \| \d+ \| .*", text),
            "places": lambda text: self._more(
                "effective IO distributions", r"target: .*|\d+(?:\.\d)?% of IO => .*", text
            ),
        }
        return self.mode in rules and rules[self.mode](text)

    def _cpu(self, text: str) -> bool:
        cells = [cell.strip() for cell in text.split("|")]
        found = cpu_row(self.columns, cells) if len(cells) > 4 else None  # noqa: PLR2004 - A label and four.
        if found is None:
            return False
        draft = self._draft()
        if found.label == "avg.":
            draft.cpu_average = found
        else:
            draft.cpus.append(found)
        return True

    def _io(self, text: str) -> bool:
        if not self.columns:
            return False
        draft = self._draft()
        if text.startswith("total:"):
            names = [name for name in self.columns if name not in ("thread", "file")]
            found = _figures(names, text.removeprefix("total:"))
            if found is not None:
                draft.directions[self.direction] = found
            return found is not None
        cells = [cell.strip() for cell in text.split("|")]
        found = _figures(self.columns, text) if whole_number(cells[0]) is not None else None
        if found is None or not cells[-1]:
            return False
        match = _FILE.fullmatch(cells[-1])
        path = match[1] if match else cells[-1]
        draft.sizes[path] = match[2] if match else ""
        draft.add_row(cells[0], path, self.direction, found)
        return True

    def _percentile(self, text: str) -> bool:
        match = _PERCENT_ROW.fullmatch(text)
        cells = [cell.strip() for cell in match[2].split("|")] if match else []
        names = self.percent_columns
        if match is None or not names or len(cells) != len(names) or percent_of(match[1]) is None:
            return bool(_RESPONSE.fullmatch(text)) and self.about == "Response times"
        if any(nanoseconds(cell) is None and cell != "N/A" for cell in cells):
            return False
        draft = self._draft()
        for name, cell in zip(names, cells, strict=True):
            if self.about is None:
                draft.percentiles.setdefault(name, {})[match[1]] = cell
            else:
                about = draft.more.setdefault(f"latencies (ms): {self.about}", {})
                about.setdefault(name, {})[match[1]] = cell
        return True

    def _total(self, text: str) -> bool:
        match = _TOTALS.fullmatch(text)
        found = _figures(self.columns, text) if match and self.columns else None
        if found is None:
            return False
        self._draft().more.setdefault("totals", {})[text.split(maxsplit=1)[0]] = dict(found.texts)
        return True

    def _other(self, text: str) -> bool:
        """Take the row of syncs or trims, which our own text has."""
        match = _OTHERS.fullmatch(text)
        cells = [cell.strip() for cell in match[2].split("|")] if match else []
        if match is None or len(cells) != _OTHER_CELLS:
            return False
        size, ios = map(whole_number, cells[:2])
        if size is None or ios is None:
            return False
        mean, p50, p99, p999, most = (nanoseconds(cell) for cell in cells[3:])
        shares = {50.0: p50, 99.0: p99, 99.9: p999}
        latency = ImportedLatency(
            WHAT,
            ios,
            mean,
            max_ns=most,
            percentiles_ns={share: one for share, one in shares.items() if one is not None},
        )
        names = ("bytes", "ios", "iops", "mean", "50th", "99th", "3-nines", "max")
        self._draft().directions[match[1]] = ImportedDirection(
            ios=ios,
            bytes=size,
            iops=decimal(cells[2]),
            latency=None if mean is None else latency,
            texts=dict(zip(names, cells, strict=True)),
        )
        return True

    def _more(self, name: str, pattern: str, text: str) -> bool:
        if re.fullmatch(pattern, text) is None:
            return False
        self._draft().more.setdefault(name, []).append(text)
        return True

    def _tails(self, text: str) -> bool:
        """Take what our own text, and DiskSpd's of traced events, has behind the tables."""
        match = _TAIL.fullmatch(text) if self.drafts and self.mode not in _HEADS else None
        if match is None:
            return False
        self.mode = ""
        self._turn_to(text)
        name, _, rest = text.partition(":")
        self._draft().more.setdefault(match[1], []).append(rest.strip() or name)
        self.tail = match[1] if not rest.strip() or match[1].startswith(_TITLED) else ""
        return True


def _figures(names: tuple[str, ...] | list[str], text: str) -> ImportedDirection | None:
    cells = [cell.strip() for cell in text.split("|")]
    return io_figures(dict(zip(names, cells, strict=True))) if len(cells) == len(names) else None
