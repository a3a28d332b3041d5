"""What an experiment is to run, as the arguments that it keeps: of words, or of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fathom._given import is_request
from fathom._permission import options_and_names
from fathom.engine import split_words
from fathom.tools.diskspd import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.request import Request

__all__ = ["asked_words"]

# Duration and stop rules are the experiment's own.
_TIMES = ("-d", "-W", "--stop-")


def asked_words(
    asked: Request | str | Sequence[str], replaced: Sequence[str] | None = None
) -> list[str]:
    """Return arguments; of a request without its times and those that are ``replaced``, if any are.

    Arguments that are typed stay as they are: what is wrong among them is an error.

    Raises
    ------
    InvalidRequestError
        If they are wrong, or no arguments say what the request has.

    """
    if not is_request(asked):
        return split_words(cast("str | Sequence[str]", asked))
    options, names = options_and_names(write.words_of(asked))
    if replaced is not None:
        options = [one for one in options if not _is_replaced(one, (*replaced, *_TIMES))]
    return [*options, *names]


def _is_replaced(word: str, options: Sequence[str]) -> bool:
    """Whether a word gives one of the options: ``-o8`` is ``-o``, and ``-oc8`` is another."""
    for option in options:
        rest = word.removeprefix(option)
        is_it = word.startswith(option)
        if is_it and (option.startswith("--") or not rest or rest[0].isdigit()):
            return True
    return False
