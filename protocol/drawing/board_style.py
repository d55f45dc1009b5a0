"""The look of a board: CSS rules for the classes that `svg` writes, with colours for light and dark backgrounds.

A page includes `RULES` in its style sheet and `variables()` in its `:root`. A picture in its own file contains
`standalone()`: the same rules with the colours filled in, because programs that draw SVG do not support variables.
"""

import re

LIGHT = {
    "wood": "#e4c48f",
    "rim": "#bf9757",
    "hole": "#cfa96d",
    "grid": "#5a4012",
    "on-wood": "#5a4012",
    "label": "#5e5a52",
    "own-b": "#c39f66",
    "own-w": "#f3e2c0",
    "stone-b0": "#55524d",
    "stone-b1": "#151413",
    "stone-b-edge": "#0b0a09",
    "stone-w0": "#ffffff",
    "stone-w1": "#d9d4c8",
    "stone-w-edge": "#544e43",
    "on-b": "#ffffff",
    "on-w": "#1c1b19",
    "crown-b": "#f0b93c",
    "crown-w": "#8a5200",
    "cast": "#d3b37f",
    "pick": "#0e6a63",
    "dead": "#c2341d",
}
DARK = {
    "wood": "#7d6846",
    "rim": "#54442c",
    "hole": "#5b4b30",
    "grid": "#1f160a",
    "on-wood": "#fbf0da",
    "label": "#a7aaa2",
    "own-b": "#705d3c",
    "own-w": "#98825c",
    "stone-b0": "#454340",
    "stone-b1": "#0d0c0b",
    "stone-b-edge": "#6a665f",
    "stone-w0": "#f5f2ea",
    "stone-w1": "#c6c0b2",
    "stone-w-edge": "#37322a",
    "on-b": "#ffffff",
    "on-w": "#1c1b19",
    "crown-b": "#f0b93c",
    "crown-w": "#8a5200",
    "cast": "#5c4c33",
    "pick": "#8ff0e2",
    "dead": "#ff8a70",
}
RULES = """\
.gb0 { stop-color: var(--stone-b0); } .gb1 { stop-color: var(--stone-b1); }
.gw0 { stop-color: var(--stone-w0); } .gw1 { stop-color: var(--stone-w1); }
.bd-wood { fill: var(--wood); } .bd-hull { stroke: var(--wood); stroke-width: 50; stroke-linejoin: round; }
.bd-rim { fill: var(--rim); stroke: var(--rim); stroke-width: 9; stroke-linejoin: round; }
.bd-hole { fill: var(--hole); } .bd-ctl-b { fill: var(--own-b); } .bd-ctl-w { fill: var(--own-w); }
.bd-grid { fill: none; stroke: var(--grid); stroke-width: 1.3; stroke-linecap: round; }
.bd-star { fill: var(--grid); } .bd-tick { stroke: var(--label); stroke-width: 1.2; }
.bd-handle { fill: none; stroke: var(--on-wood); stroke-width: 2.5; }
.bd-lab { text-anchor: middle; fill: var(--label); } .bd-on { text-anchor: middle; fill: var(--on-wood); }
.bd-shadow { fill: var(--cast); } .pc { stroke-width: 1.1; stroke-linejoin: round; }
.pc-b { fill: url(#gb); stroke: var(--stone-b-edge); } .pc-w { fill: url(#gw); stroke: var(--stone-w-edge); }
.crown-b { fill: var(--crown-b); } .crown-w { fill: var(--crown-w); }
.on-b { text-anchor: middle; fill: var(--on-b); } .on-w { text-anchor: middle; fill: var(--on-w); }
.last-b { fill: none; stroke: var(--on-b); stroke-width: 2.4; }
.last-w { fill: none; stroke: var(--on-w); stroke-width: 2.4; }
.mk-left { fill: none; stroke: var(--grid); stroke-width: 1.6; stroke-dasharray: 3 2; }
.own-b { fill: #151413; stroke: #f3e2c0; stroke-width: 1; }
.own-w { fill: #ffffff; stroke: #151413; stroke-width: 1; }
.mk-dead { fill: none; stroke: var(--dead); stroke-width: 5; stroke-linecap: round; }
.line-b { fill: var(--stone-b1); } .line-w { fill: var(--stone-w0); }
.mk-line { stroke: var(--pick); stroke-width: 1.8; stroke-dasharray: 4 2.5; }
"""


def variables(palette: dict[str, str]) -> str:
    """Return the colours as declarations of CSS variables."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def standalone() -> str:
    """Return the style sheet of a picture in its own file: light, or dark if the reader prefers it."""
    return f"{_filled(LIGHT)}@media (prefers-color-scheme: dark) {{\n{_filled(DARK)}}}\n"


def _filled(palette: dict[str, str]) -> str:
    return re.sub(r"var\(--([\w-]+)\)", lambda name: palette[name[1]], RULES)
