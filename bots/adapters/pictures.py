"""Boards as PNG, for models that accept pictures: resvg renders the SVG with a font of this machine."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ggp.bots.adapters import load
from ggp.engines.game import OptionError

WIDTH = 640  # pixels
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


class FontFile(NamedTuple):
    """A file of a sans-serif font, and the font's family."""

    name: str
    family: str


FONTS = (
    FontFile("DejaVuSans.ttf", "DejaVu Sans"),
    FontFile("LiberationSans-Regular.ttf", "Liberation Sans"),
    FontFile("NotoSans-Regular.ttf", "Noto Sans"),
    FontFile("FreeSans.ttf", "FreeSans"),
    FontFile("Arial.ttf", "Arial"),
)


def check_pictures() -> None:
    """Raise OptionError, with what to install, if this machine cannot draw pictures.

    Without a font, a board would lack the names of its cells.
    """
    load("llm", "resvg_py", "resvg_py")
    if _font() is None:
        raise OptionError(
            "llm: --board picture needs a font: run apt-get install fonts-dejavu-core, or use --board text"
        )


def png(drawn: str) -> bytes:
    """Return an SVG as PNG. Call check_pictures first."""
    from resvg_py import svg_to_bytes

    found = _font()
    family = found[1] if found else None
    return bytes(
        svg_to_bytes(
            svg_string=drawn,
            width=WIDTH,
            background="#ffffff",
            skip_system_fonts=True,
            font_files=[found[0]] if found else [],
            font_family=family,
            sans_serif_family=family,
        )
    )


@cache
def _font() -> tuple[str, str] | None:
    """Return path and family of the first installed font."""
    return next(_found(), None)


def _found() -> Iterator[tuple[str, str]]:
    for font in FONTS:
        for folder in FOLDERS:
            for path in Path(folder).expanduser().rglob(font.name):
                yield str(path), font.family
