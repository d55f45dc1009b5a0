"""A browser's part at the seats of `ggp web`, without a browser: cookie, token, orders and events over HTTP."""

import http.client
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.cli import wait_until

PATIENCE = 180.0


class Refused(Exception):
    """An answer that is no success; `status` and the sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}")
        self.status = status


class SeatClient:
    """One visitor. `id` is its seat, once it has one; a client of the same `cookie` is another tab."""

    def __init__(self, port: int, cookie: str = "", id: str = "") -> None:
        self.port, self.cookie, self.id = port, cookie, id
        self.csrf = ""

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        fields = {"host": f"127.0.0.1:{self.port}", **({"cookie": self.cookie} if self.cookie else {})}
        if body is not None:
            fields |= {
                "content-type": "application/json",
                "origin": f"http://127.0.0.1:{self.port}",
                "x-csrf-token": self.csrf,
            }
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, None if body is None else json.dumps(body), fields)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status >= 400:
            raise Refused(answer.status, text.strip())
        return answer, text

    def visit(self, path: str = "/seats") -> str:
        """Load a page with orders on it; takes its cookie and token."""
        answer, text = self.ask("GET", path)
        if said := answer.getheader("set-cookie"):
            assert "HttpOnly" in said and "SameSite=strict" in said
            self.cookie = said.partition(";")[0]
        found = re.search(r'data-csrf="(\w+)"', text)
        assert found, text
        self.csrf = found[1]
        return text

    def take(self, **order: str) -> None:
        self.visit(f"/seats?invite={order['invite']}" if "invite" in order else "/seats")
        self.id = json.loads(self.ask("POST", "/seats", order)[1])["seat"]

    def order(self, word: str, **order: object) -> None:
        self.ask("POST", f"/seats/{self.id}/{word}", order)

    def position(self, *cells: str) -> dict[str, Any]:
        query = "&".join(f"cell={cell}" for cell in cells)
        found: dict[str, Any] = json.loads(self.ask("GET", f"/seats/{self.id}/position?{query}")[1])
        return found

    def states(self) -> Iterator[dict[str, Any]]:
        """The states of the seat as they come; the browser is there until the iterator is closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"/seats/{self.id}/events", headers={"cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            answer.close()
            connection.close()

    def until(self, good: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state that is good."""
        states = self.states()
        try:
            last: dict[str, Any] = {}
            deadline = time.monotonic() + PATIENCE
            for last in states:
                if good(last):
                    return last
                assert time.monotonic() < deadline, last
            raise AssertionError(f"the stream ended after {last}")
        finally:
            states.close()  # type: ignore[attr-defined]

    def play(self, choose: Callable[[dict[str, Any]], str], plies: int = 10_000) -> dict[str, Any]:
        """Play so many moves of one's own, or to the end; the last state."""
        states, answered = self.states(), -1
        try:
            for state in states:
                if state["phase"] == "over" or plies == 0:
                    return state
                if state["phase"] == "playing" and state["turn"] and state["ply"] > answered:
                    position = self.position()
                    if position["ply"] == state["ply"]:
                        self.order("move", move=choose(position), ply=state["ply"])
                        plies, answered = plies - 1, state["ply"]
            raise AssertionError("the stream ended")
        finally:
            states.close()  # type: ignore[attr-defined]


def is_there(port: int) -> bool:
    """Whether the site answers."""
    try:
        SeatClient(port).ask("GET", "/live")
        return True
    except (OSError, http.client.HTTPException, Refused):
        return False


def until_there(port: int) -> None:
    wait_until(lambda: is_there(port), PATIENCE)
