"""The JavaScript that draws figures in a page: Vega, Vega-Lite and Vega-Embed in one piece.

vl-convert has it within itself, so that no network is needed. To take it out costs seconds and 150
MiB: ``make build`` puts it beside the page, as packages have it, and otherwise it is kept in the
user's cache folder, by the version of vl-convert. Where that is not installed (it belongs to the
extra ``pictures``), what stands beside the page is taken.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fathom import _packages
from fathom.report.render.images import require_pictures

__all__ = ["build", "built_file", "cache_file", "javascript"]

# The end of what is kept, by which a file that is not whole is known.
_END = "\n//whole\n"


def built_file() -> Path:
    """Return where ``make build`` puts the bundle."""
    return Path(__file__).parent.with_name("page") / f"vega-{_version()}.js"


def cache_file() -> Path:
    """Return where the bundle is kept."""
    folder = Path(_packages.platformdirs.user_cache_dir("fathom"))
    return folder / f"vega-{_version()}.js"


def _beside_the_page() -> list[Path]:
    return sorted(Path(__file__).parent.with_name("page").glob("vega-*.js"))


def _version() -> str:
    try:
        return version("vl-convert-python")
    except PackageNotFoundError:
        return "unknown"


def javascript() -> str:
    """Return the bundle, which defines ``vegaEmbed``; made again where none is kept."""
    kept = cache_file()
    for place in (built_file(), kept, *_beside_the_page()):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = place.read_text(encoding="utf-8")
            if text.endswith(_END):
                return text
    require_pictures()
    made = _made()
    # A cache that cannot be written costs time, and nothing else.
    with contextlib.suppress(OSError):
        _keep(kept, made)
    return made


def _made() -> str:
    # In a page, this would end the script.
    bundle = _packages.vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script") + _END


def _keep(place: Path, text: str) -> None:
    """Write the file so that it appears only once it is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        # Others may read it, too, where it is installed for all.
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(place)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def build() -> None:
    """Put the bundle beside the page, unless it is there."""
    place = built_file()
    for other in place.parent.glob("vega-*.js"):
        if other != place:
            other.unlink()
    if not place.exists():
        _keep(place, _made())
