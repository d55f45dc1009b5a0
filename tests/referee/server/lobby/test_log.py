"""The event log: repeated events of one source are counted, and logged once a minute."""

import json

from ggp.referee.server.lobby import log
from ggp.referee.server.lobby.log import EventLog


def test_repeated_events_are_logged_once_a_minute_with_their_number() -> None:
    lines: list[str] = []
    event_log = EventLog(as_json=True, write=lines.append)
    for second in range(0, 120, 10):
        event_log.log_limited(second, "refused", "handshake", "10.0.0.1", reason="unknown key")
    event_log.log_limited(119, "refused", "handshake", "10.0.0.2", 3)
    logged = [json.loads(line) for line in lines]
    assert [(one["source"], one["times"]) for one in logged] == [("10.0.0.1", 1), ("10.0.0.1", 6), ("10.0.0.2", 3)]
    assert event_log.counts == {("refused", "handshake"): 15}


def test_the_number_of_sources_that_are_remembered_is_bounded() -> None:
    lines: list[str] = []
    event_log = EventLog(write=lines.append)
    for number in range(log.SOURCES + 1):
        event_log.log_limited(0, "refused", "handshake", str(number))
    event_log.log_limited(0, "refused", "handshake", "1")
    event_log.log_limited(0, "refused", "handshake", "0")
    assert len(lines) == log.SOURCES + 2, "the oldest is forgotten, and logged again"
