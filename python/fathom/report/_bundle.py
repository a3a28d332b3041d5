"""The JavaScript that draws figures in a page: Vega, Vega-Lite and Vega-Embed in one piece.

vl-convert has it within itself, so that no network is needed. To take it out costs seconds and 150
MiB: it is kept in the user's cache folder, by the version of vl-convert.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

__all__ = ["cache_file", "javascript"]

# The end of what is kept, by which a file that is not whole is known.
_END = "\n//whole\n"


def cache_file() -> Path:
    """Return where the bundle is kept."""
    import platformdirs  # noqa: PLC0415 - Only needed here.

    folder = Path(platformdirs.user_cache_dir("fathom"))
    return folder / f"vega-{version('vl-convert-python')}.js"


def javascript() -> str:
    """Return the bundle, which defines ``vegaEmbed``; made anew where none is kept."""
    kept = cache_file()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = kept.read_text(encoding="utf-8")
        if text.endswith(_END):
            return text
    import vl_convert  # noqa: PLC0415 - Loads a JavaScript engine.

    # In a page, this would end the script.
    made = (
        vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace(
            "</script", "<\\/script"
        )
        + _END
    )
    # A cache that cannot be written costs time, and nothing else.
    with contextlib.suppress(OSError):
        _keep(kept, made)
    return made


def _keep(place: Path, text: str) -> None:
    """Write the file so that it appears only once it is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(unfinished).replace(place)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
