"""What has no equal in the other tool."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Note", "Notes"]


@dataclass(frozen=True)
class Note:
    """A setting that the other tool cannot say, or says differently.

    Attributes
    ----------
    setting
        In the words of the tool that it comes from, such as ``-si``.
    words
        What is different, as a sentence.
    changes_load
        Whether the device sees another load; otherwise only what surrounds it differs.

    """

    setting: str
    words: str
    changes_load: bool

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.setting}: {self.words}"


@dataclass
class Notes:
    """Notes in the order in which they were taken, each once."""

    found: list[Note] = field(default_factory=list)

    def load(self, setting: str, words: str) -> None:
        """Note that the load is another."""
        self._add(Note(setting, words, changes_load=True))

    def remark(self, setting: str, words: str) -> None:
        """Note that something beside the load differs."""
        self._add(Note(setting, words, changes_load=False))

    def _add(self, note: Note) -> None:
        if note not in self.found:
            self.found.append(note)
