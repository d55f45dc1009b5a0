"""A scene of a foreign engine is read, or refused in one line."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.drawing import svg, text
from ggp.protocol.drawing.scene import (
    MAX_SCENE,
    DrawingError,
    as_scene,
    read_scene,
    replace_unprintable,
    replace_unprintable_lines,
    sentence,
)
from tests.support.drawn_scenes import KINDS, NASTY, bare


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read(name: str) -> None:
    fields = KINDS[name]()
    scene = read_scene(json.dumps(fields))
    assert scene == as_scene(fields) == read_scene(json.dumps(fields).encode())
    assert [cell.at for cell in scene.cells] == [cell["at"] for cell in fields["cells"]]
    assert (scene.seat, scene.ply, scene.last) == (2, 7, fields["last"])


def test_what_a_viewer_does_not_know_is_ignored() -> None:
    assert as_scene(bare(weather="fine")) == as_scene(bare())


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"board": {}}, "kind"),
        ({"board": {"kind": "cube"}}, "cube"),
        ({"cells": None}, "cells"),
        ({"cells": [{"at": "a", "x": 0}]}, "missing required field `y`"),
        ({"cells": [{"at": "a", "x": "0", "y": 0}]}, "Expected `float`"),
        ({"cells": [{"at": "a", "x": math.nan, "y": 0}]}, "float"),
        ({"cells": [{"at": "a", "x": 1e300, "y": 0}]}, "float"),
        ({"cells": [{"at": "", "x": 0, "y": 0}]}, "length"),
        ({"cells": [{"at": "a", "x": 0, "y": 0}] * 2}, "two cells have the same name"),
        ({"cells": [{"at": str(n), "x": 0, "y": 0} for n in range(10_001)]}, "length <= 10000"),
        ({"pieces": [{"at": "a", "colour": "red"}]}, "red"),
        ({"pieces": [{"at": "a", "colour": "black", "glyph": "XX"}]}, "glyph"),
        ({"pieces": [{"at": "a", "colour": "black"}, {"at": "a", "colour": "white"}]}, "two pieces"),
        ({"pieces": [{"at": "z", "colour": "black"}]}, "pieces names z, which is not a cell"),
        ({"joins": [["a", "z"]]}, "joins names z"),
        ({"joins": [["a"]]}, "joins"),
        ({"control": [{"at": "z", "colour": "black"}]}, "control names z"),
        ({"last": ["a", "\x1b[2J"]}, "last names \ufffd[2J"),
        ({"lines": [[0, 0, 1]]}, "lines"),
        ({"tokens": [{"text": "x" * 201}]}, "tokens"),
        ({"labels": [{"text": "A", "x": 0, "y": 0, "to": [0]}]}, "to"),
        ({"ply": -1}, "ply"),
    ],
)
def test_what_is_wrong_is_said(parts: dict[str, Any], reason: str) -> None:
    for read in (as_scene, lambda fields: read_scene(json.dumps(fields))):
        with pytest.raises(DrawingError) as error:
            read(bare(**parts))
        assert str(error.value).startswith("invalid scene: ") and len(str(error.value)) < 300
        assert str(error.value).isprintable()
    if parts.get("cells") != [{"at": "a", "x": math.nan, "y": 0}]:  # which JSON cannot hold
        assert reason in str(error.value)


@pytest.mark.parametrize("body", ["", "[]", "null", "{", "\x00", '{"a":' * 200_000, '{"board": 1e999}', '"\\ud800"'])
def test_what_is_no_json_is_refused(body: str) -> None:
    with pytest.raises(DrawingError):
        read_scene(body)
    with pytest.raises(DrawingError):
        read_scene(body.encode() + b"\xff")


def test_an_endless_scene_is_not_even_read() -> None:
    with pytest.raises(DrawingError, match="at most"):
        read_scene(b" " * (MAX_SCENE + 1))


def test_texts_are_made_harmless() -> None:
    assert replace_unprintable("Zoë 碁 a b") == "Zoë 碁 a b"
    assert replace_unprintable(NASTY) == '<script>"&\ufffd[2J\ufffd\ufffd'


def test_the_lines_of_a_text_stay_lines() -> None:
    assert replace_unprintable_lines("one line") == "one line"
    assert replace_unprintable_lines("a\tb\n\n\x1b[2Jc\r\n") == "a       b\n\n\ufffd[2Jc\ufffd\n"


def test_the_turn_in_words() -> None:
    def said(**status: Any) -> str:
        return sentence(as_scene(bare(**status)))

    assert said() == said(phase="play") == said(phase="lunch", to_play="black") == ""
    assert said(phase="play", to_play="black", seat=1) == "Black to move (seat 1)"
    assert said(phase="bid", to_play="black", seat=1) == "Black to bid (seat 1)"
    assert said(phase="choose", to_play="white", seat=2) == "White to choose a side (seat 2)"
    assert said(phase="agree", to_play="white", seat=1) == "White to name the dead stones (seat 1)"
    assert said(phase="over", result="B+\x1b1") == "Game over: B+\ufffd1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from(["a", "b", "black", NASTY]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["at", "x", "y", "text"]), inner),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from(["cells", "pieces", "lines", "labels", "last", "joins", "tokens"]), JSON))
def test_whatever_comes_is_drawn_or_refused(parts: dict[str, Any]) -> None:
    try:
        scene = as_scene(bare(**parts))
        drawn = [text.draw(scene), *text.describe(scene)]
    except DrawingError:
        return
    assert all(line.isprintable() for part in drawn for line in part.split("\n"))
    assert "<script" not in svg.draw(scene)
