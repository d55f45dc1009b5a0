"""A chat completions endpoint with scripted answers, on a port of 127.0.0.1, in a thread of the test's process."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A response that is no answer. `kind`: `status`, `hang`, `drip` (of headers, a byte at a time), `cut` (the stream
    ends in its middle), `close` (no response), `raw` (this body with status 200), `endless`, `gzip`."""

    kind: str
    status: int = 200
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()


Scripted = str | Fault | dict[str, Any]
"""The content of an answer; a fault; the members of a whole response."""
Script = Callable[[list[dict[str, Any]]], Scripted]
"""Messages -> what to answer."""
LEGAL = re.compile(r"^The \d+ legal moves: (.*)$", re.MULTILINE)


class ModelEndpoint:
    """`asked`: the bodies of all requests so far, `keys`: their Authorization headers, `times`: when they came."""

    def __init__(self, script: Script | Iterable[Scripted]) -> None:
        if callable(script):
            self._answer = script
        else:
            answers = iter(script)
            self._answer = lambda messages: next(answers)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"endpoint": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def answer(self, body: dict[str, Any], key: str) -> Scripted:
        with self._lock:
            self.asked.append(body)
            self.keys.append(key)
            self.times.append(time.monotonic())
            return self._answer(body["messages"])

    def __enter__(self) -> "ModelEndpoint":
        return self

    def __exit__(self, *ended: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def legal_moves(messages: list[dict[str, Any]]) -> list[str]:
    """Those that the prompt lists (`--legal list`)."""
    found = LEGAL.search(as_text(messages[1]["content"]))
    assert found is not None, messages
    return found[1].split()


def as_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def naming(move: str) -> str:
    return f'I think about it.\n{{"move": "{move}"}}'


def completion(content: Any, **more: Any) -> dict[str, Any]:
    """A whole response; more: `finish_reason`, `usage`."""
    usage = more.get("usage", {"prompt_tokens": 100, "completion_tokens": 7})
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    return {"choices": [{**choice, "finish_reason": more.get("finish_reason", "stop")}], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    endpoint: ModelEndpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = self.endpoint.answer(body, self.headers.get("Authorization", ""))
        if isinstance(said, Fault):
            self._fail(said)
        else:
            self._send(json.dumps(said if isinstance(said, dict) else completion(said)))

    def _send(self, body: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> None:
        data = body.encode("utf-8", "surrogatepass")
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(data)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, fault: Fault) -> None:
        try:
            self._act(fault)
        except OSError:  # the other side has gone, as it should
            self.close_connection = True

    def _act(self, fault: Fault) -> None:
        if fault.kind in ("status", "raw"):
            return self._send(fault.body, fault.status, fault.headers)
        self.close_connection = True
        if fault.kind == "hang":
            self.endpoint.ending.wait(60)
        elif fault.kind == "drip":
            for byte in b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 4000:
                if self.endpoint.ending.wait(0.05):
                    return None
                self.wfile.write(bytes([byte]))
        elif fault.kind == "cut":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [{"message": {"content": "')
        elif fault.kind == "gzip":
            self._send("{}", headers=(("Content-Encoding", "gzip"),))
        elif fault.kind == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
            while not self.endpoint.ending.is_set():
                self.wfile.write(b"x" * 65536)
        return None

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is written to stderr."""
