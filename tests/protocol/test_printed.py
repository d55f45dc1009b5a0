"""What is printed: no password of a URL, and no JSON that a terminal would obey."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.errors import AddressError
from ggp.protocol.printed import counted, json_text, without_password, without_passwords
from ggp.referee.cli import export, ladder_games, ladder_report, ladder_standings, show, verify
from ggp.referee.cli.console import main as main_console
from ggp.referee.cli.ladder_init import main as main_init
from ggp.referee.cli.match import main as main_match
from ggp.referee.cli.rate import run_rate as main_rate
from ggp.referee.cli.regress import main as main_regress
from ggp.referee.cli.serve import main as main_serve
from ggp.referee.cli.tap import main as main_tap
from ggp.referee.ladder.dask_pool import address_of
from ggp.referee.ladder.store.model import StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.match.process import dialogue_sink
from ggp.referee.tools import junit

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql://club:hunter2@host/db", "mysql://club:***@host/db"),
        ("x+y://:hunter2@host", "x+y://:***@host"),
        ("postgresql://u:hunter2@ho@st:5432/d#club-1@17", "postgresql://u:***@st:5432/d#club-1@17"),
        ("postgresql://u:hunter2#@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:hunter2/@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:hunter2@12", "postgresql://u:***@12"),
        ("postgresql://u@h/d?sslmode=x&password=hunter2&a=b", "postgresql://u@h/d?sslmode=x&password=***&a=b"),
        ("postgresql://h:5432/d#club-1@17", "postgresql://h:5432/d#club-1@17"),
        ("mysql:/u:hunter2@h/d", "mysql:/u:***@h/d"),
        ("tcp://127.0.0.1:5555", "tcp://127.0.0.1:5555"),
        ("sqlite:////tmp/a.db#k@3", "sqlite:////tmp/a.db#k@3"),
        ("games.jsonl#m@3", "games.jsonl#m@3"),
    ],
)
def test_a_url_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
    assert without_passwords(f"store '{url}' is not there: mend it") == f"store '{shown}' is not there: mend it"


@pytest.mark.slow
@given(
    st.recursive(
        st.text() | st.integers() | st.booleans(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=8,
    )
)
def test_json_is_the_same_value_and_safe_to_print(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not any(0x7F <= ord(char) < 0xA0 or char < " " or char in "\u200e\u200f\u061c\u202e\u2066" for char in text)


def test_a_number_has_its_noun() -> None:
    assert [counted(number, "game") for number in (0, 1, 2)] == ["0 games", "1 game", "2 games"]
    assert [counted(number, "ply", "plies") for number in (1, 2)] == ["1 ply", "2 plies"]


def test_letters_of_every_script_stand_as_they_are() -> None:
    assert json_text(["Zoë 碁 𝄞 \u202e\x9b"]) == '["Zoë 碁 𝄞 \\u202e\\u009b"]'


@pytest.mark.parametrize(
    "url", ["mysql://u:hunter2@host/db", "nothing://u:hunter2@host/db", "postgresql://u:hunter2@[::1/db"]
)
def test_no_command_repeats_a_password(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as raised:
        Store.open(url)
    assert SECRET not in str(raised.value)
    for status, main, words in (
        (2, show.main, [f"{url}#k"]),
        (2, verify.main, [url]),
        (2, verify.main, [f"{url}#k", "--json"]),
        (2, export.main, [url]),
        (2, main_console, ["--match", f"{url}#k@2"]),
        (2, main_match, ["go", "random", "random", "--from", f"{url}#k"]),
        (2, main_match, ["go", "random", url]),
        (2, main_match, ["go", "random", "tcp://u:hunter2@host:1"]),
        (2, main_match, ["go", "random", "random", "--engine", "tcp://u:hunter2@host:1"]),
        (2, main_rate, [url]),
        (2, main_init, [url]),
        (2, main_serve, [url]),
        (2, main_regress, [url, "--", "cat"]),
        (2, main_tap, ["--show", url]),
        (1, ladder_games.run_games, [url]),
        (1, ladder_standings.run_standings, [url]),
        (2, ladder_standings.run_standings, [url, "two", "many"]),
        (1, ladder_report.main, [url, "-o", "site"]),
    ):
        assert main(words) == status, words
        out, err = capsys.readouterr()
        assert SECRET not in out + err and "Traceback" not in err and err, words


def test_a_store_that_cannot_be_reached_keeps_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "postgresql://u:hunter2@127.0.0.1:1/db?connect_timeout=1&sslpassword=hunter2"
    for main, words in ((ladder_standings.run_standings, [url]), (show.main, [f"{url}#k"])):
        assert main(words) in (1, 2)
        err = capsys.readouterr().err
        assert SECRET not in err and "***" in err and "cannot be reached" in err


def test_addresses_of_peers_and_clusters() -> None:
    assert SECRET not in str(AddressError("cannot connect to tcp://u:hunter2@h:1: refused"))
    for place in ("h", "h:8786"):  # Dask has no passwords, and would repeat one
        with pytest.raises(ValueError, match=rf"dask://u:\*\*\*@{place}: write a cluster as"):
            address_of(f"dask://u:hunter2@{place}")


def test_what_a_bot_says_does_not_reach_the_terminal_raw(capfd: pytest.CaptureFixture[str]) -> None:
    dialogue_sink("ann")("<", 0.0, "=1 A1\x9b31m\u202e\t\x7f é\n\n".encode())
    assert capfd.readouterr().err == "ann < =1 A1\\u009b31m\\u202e  é\n"


def test_output_of_a_program_is_visible_in_a_report_of_regressions() -> None:
    assert junit.valid("A1\x9b\x85\u202e\u2028\x00 é\n") == "A1\ufffd\ufffd\ufffd\ufffd\ufffd é\n"
