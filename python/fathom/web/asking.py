"""What may be requested through the web, and what it would do, in words, before it is done."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._permission import allows
from fathom.errors import InvalidRequestError
from fathom.web.processes import command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.web.processes import Wanted

__all__ = ["VERBS", "Explained", "Explanations", "check_wanted"]

VERBS = ("run", "repeat", "sweep", "tune", "compare", "assess")
_MOST_WORDS, _LONGEST_WORD = 200, 4096
_EXPLAIN_S = 60.0
_LIFETIME_S = 900.0
_MOST_KEPT = 256
_SHOWN_CHARACTERS = 20_000
_BESIDE = "it has a field of its own"
_FILE = "it would write or read a file that is no target"
_SEEN = "the pages and the API show the result"
_REFUSED: Mapping[str, str] = {
    "--yes": _BESIDE,
    "--store": "the server has its store",
    "--no-save": "what is measured here is saved",
    "--output": _FILE,
    "--metrics-file": _FILE,
    "--verify-journal": _FILE,
    "--verify-only": _FILE,
    "--credentials": _FILE,
    "--json": _SEEN,
    "--format": _SEEN,
    "--live": "what runs is seen live",
    "--lease": "nobody renews it",
    "--dry-run": "that is what explaining does",
    "--help": "it runs nothing",
    "--version": "it runs nothing",
    "--runner": "only fio can be named, as --runner=fio: all else would be any program",
}
# Letters of diskspd that name a file behind them: a profile, and what is written.
_PROFILE, _CONTENT = "-X", "-Z"
# Of the verbs that take no load, letters stand for words.
_WITHOUT_LOAD = ("assess",)


def check_wanted(wanted: Wanted) -> None:
    """Refuse what may not be requested here: it would act elsewhere than is shown.

    Raises
    ------
    InvalidRequestError
        If there is such an argument.

    """
    if wanted.verb not in VERBS:
        raise InvalidRequestError(f"{wanted.verb!a} cannot be started here: {', '.join(VERBS)} can")
    words = [*wanted.arguments, *wanted.allow_write]
    if len(words) > _MOST_WORDS or any(len(one) > _LONGEST_WORD for one in words):
        raise InvalidRequestError(
            f"at most {_MOST_WORDS} arguments of {_LONGEST_WORD} characters can be given"
        )
    if any("\0" in one for one in words):
        raise InvalidRequestError("an argument has a zero byte, which no name can have")
    if any(0xD800 <= ord(letter) <= 0xDFFF for one in words for letter in one):  # noqa: PLR2004 - UTF-16.
        raise InvalidRequestError("an argument has half of a character, which no name can have")
    _check_words(wanted.arguments, has_letters=wanted.verb in _WITHOUT_LOAD)


def _check_words(words: Sequence[str], *, has_letters: bool = False) -> None:
    for word in words:
        if word == "--":
            return
        name, _, value = word.partition("=")
        if allows(word):
            raise InvalidRequestError(f"{name} cannot stand among the arguments: {_BESIDE}")
        if name in _REFUSED and (name, value) != ("--runner", "fio"):
            raise InvalidRequestError(f"{name} cannot be given here: {_REFUSED[name]}")
        if word.startswith(_PROFILE) or (word.startswith(_CONTENT) and "," in word):
            raise InvalidRequestError(f"{word[:2]} with a file cannot be given here: {_FILE}")
        if has_letters and word.startswith("-") and not word.startswith("--"):
            raise InvalidRequestError(f"{word!a}: write options as whole words here")
        if value.startswith("-"):
            # An option that varies, as of sweep --vary.
            _check_words([value])
        # Loads within a word, as of compare --run, have arguments of their own.
        for load in filter(None, (word, value)):
            _check_words(_split(load))


def _split(words: str) -> list[str]:
    """Return the words that a shell would see in this one; nothing if it is one without quotes."""
    try:
        found = shlex.split(words)
    except ValueError:
        return []
    return [] if found == [words] else found


@dataclass(frozen=True)
class Explained:
    """What a command would do, in words; ``id`` is what starts it, as long as it is known."""

    id: str
    wanted: Wanted
    user: str
    text: str
    would_run: bool
    ends_s: float


class Explanations:
    """What was explained a short while ago: only that can be started."""

    def __init__(self, store: str | None) -> None:
        """Explain for runs that go to this store."""
        self._store = store
        self._kept: OrderedDict[str, Explained] = OrderedDict()
        self._lock = threading.Lock()
        # Each is a process that looks at targets.
        self._at_once = threading.BoundedSemaphore(2)

    def explain(self, wanted: Wanted, user: str) -> Explained:
        """Return what would be done; nothing is done.

        Raises
        ------
        InvalidRequestError
            If it may not be requested here.

        """
        check_wanted(wanted)
        with self._at_once:
            text, would_run = self._dry(wanted)
        made = Explained(
            secrets.token_urlsafe(16),
            wanted,
            user,
            text[:_SHOWN_CHARACTERS],
            would_run,
            time.monotonic() + _LIFETIME_S,
        )
        with self._lock:
            self._kept[made.id] = made
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return made

    def take(self, name: str, user: str) -> Explained:
        """Return what was explained to this user, once.

        Raises
        ------
        InvalidRequestError
            If nothing of the kind is known, or it was refused.

        """
        with self._lock:
            found = self._kept.get(name)
            if found is None or found.user != user or found.ends_s < time.monotonic():
                raise InvalidRequestError(
                    "what is to be started was not explained within a quarter of an hour: let it "
                    "be explained first"
                )
            if not found.would_run:
                raise InvalidRequestError("it would be refused: see what was explained")
            del self._kept[name]
        return found

    def give_back(self, explained: Explained) -> None:
        """Keep what was taken and could not be started now: it is as well known as before."""
        with self._lock:
            self._kept[explained.id] = explained

    def _dry(self, wanted: Wanted) -> tuple[str, bool]:
        words = [*command(), *wanted.words(dry=True)]
        store = {"FATHOM_STORE": self._store} if self._store else {}
        try:
            done = subprocess.run(  # noqa: S603 - What was checked.
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_EXPLAIN_S,
                check=False,
                cwd=Path.cwd(),
                env={**os.environ, **store, "NO_COLOR": "1"},
            )
        except subprocess.TimeoutExpired:
            return "A target did not answer within a minute, so that nothing can be said.", False
        text = (done.stdout + done.stderr).decode(errors="replace").strip()
        return text, done.returncode == 0
