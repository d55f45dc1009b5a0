"""One end of a chat completions API: a question, its answer, and all that may go wrong on the way, within a time.

The key is in the header of each request and nowhere else; what an endpoint says of it is made unreadable.
"""

import contextlib
import json
import random
import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ggp.bots.adapters import load
from ggp.protocol.drawing.scene import replace_unprintable

MAX_BODY = 8 * 1024 * 1024  # bytes of an answer with all that is around it
MAX_TOKENS = 10**9  # in one answer; who says more lies
TRIES = 5  # of one question, while the endpoint fails otherwise than by asking for patience
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before the next try; doubled each time
_PATIENCE = (429, 503, 529)  # statuses that ask for it
_AGAIN = (408, 409, 425, 500, 502, 504, *_PATIENCE)
_MINUTE = 60.0
_NUMBER = re.compile(r"[0-9.]+")
_CHARACTERS = 4  # to a token, where the endpoint does not count


class ModelAnswer(NamedTuple):
    """The answer of a model.

    `cut`: it ended at the limit of tokens. `estimated`: the endpoint did not count the tokens. `tries`: the number of
    requests. `lost`: estimated tokens of requests that were accepted and not answered: a provider counts them, too.
    """

    text: str
    cut: bool
    tokens_in: int
    tokens_out: int
    estimated: bool
    tries: int
    lost: int = 0


class EndpointFailed(Exception):
    """A failure to get an answer; str() says why in one line. `tries` and `lost` are as in ModelAnswer."""

    def __init__(self, text: str, tries: int = 0, lost: int = 0) -> None:
        super().__init__(text)
        self.tries, self.lost = tries, lost


class _Trouble(Exception):
    """A request that failed.

    `wait`: the seconds that the endpoint asks for; `again`: another request may succeed; `refused`: it was not
    accepted; `failed`: the endpoint reported its own failure, and counts no tokens.
    """

    def __init__(
        self, text: str, again: bool = True, wait: float | None = None, refused: bool = False, failed: bool = False
    ) -> None:
        super().__init__(text)
        self.again, self.wait, self.refused, self.failed = again, wait, refused, failed


class _TimeIsUp(Exception):
    pass


class Endpoint:
    """A client of one model. Nothing runs between questions.

    `url` is the base, as in http://127.0.0.1:8000/v1; `per_minute` limits requests, 0 for no limit; `body` has further
    members of each request.
    """

    def __init__(self, url: str, body: Mapping[str, Any], key: str = "", per_minute: int = 0) -> None:
        self._httpx = load("llm", "httpx", "httpx")
        self._url = url if url.endswith("/chat/completions") else f"{url.rstrip('/')}/chat/completions"
        self._body, self._key = body, key
        self._per_minute = per_minute
        self._sent: deque[float] = deque()  # when requests were sent that were taken up
        self._told: set[str] = set()
        self._client: Any = None

    def ask(self, messages: Sequence[Mapping[str, Any]], seconds: float, longest: float, **more: Any) -> ModelAnswer:
        """Ask the model and return its answer. Raises EndpointFailed.

        Args:
            messages: The conversation so far.
            seconds: The time for everything, repeated requests included.
            longest: Seconds for each request.
            more: Further members of this request.
        """
        deadline = time.monotonic() + seconds
        body = json.dumps({**self._body, "messages": messages, **more}).encode()
        wait, failures, tries, lost = FIRST_WAIT, 0, 0, 0
        while True:
            self._pace(deadline, tries, lost)
            tries += 1
            began = time.monotonic()
            if self._per_minute:
                self._sent.append(began)
            try:
                return self._read(self._request(body, max(0.001, min(longest, deadline - began))), body)._replace(
                    tries=tries, lost=lost
                )
            except _Trouble as trouble:
                if trouble.refused and self._sent:
                    self._sent.pop()
                text = str(trouble)
                lost += 0 if trouble.refused or trouble.failed else _estimate(len(body))
                failures += trouble.wait is None
                pause = wait * random.uniform(0.75, 1.0)  # for an endpoint that asks for no patience, too
                if trouble.wait is not None:
                    pause = trouble.wait if trouble.wait >= FIRST_WAIT else max(trouble.wait, pause)
                wait = min(2 * wait, LONGEST_WAIT)
                if not trouble.again:
                    raise EndpointFailed(text, tries, lost) from None
                if failures >= TRIES:
                    raise EndpointFailed(f"{text}, {failures} times", tries, lost) from None
                if time.monotonic() + pause >= deadline:
                    said = "" if trouble.wait is None else f" and asks for {trouble.wait:.0f} s of patience"
                    raise EndpointFailed(f"{text}{said}: no time is left", tries, lost) from None
                self._tell_once(text)
                time.sleep(pause)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _pace(self, deadline: float, tries: int, lost: int) -> None:
        """Wait until one more request keeps to the limit of each minute. Raises EndpointFailed if that is too late."""
        while self._per_minute:
            now = time.monotonic()
            while self._sent and now - self._sent[0] >= _MINUTE:
                self._sent.popleft()
            if len(self._sent) < self._per_minute:
                return
            pause = self._sent[0] + _MINUTE - now
            if now + pause >= deadline:
                raise EndpointFailed(f"--per-minute {self._per_minute} leaves no request in the time left", tries, lost)
            time.sleep(pause)

    def _request(self, body: bytes, seconds: float) -> bytes:
        """Send one request and return the body of a success. Raises _Trouble."""
        httpx = self._httpx
        if self._client is None:
            # Certificates are read for https alone, and this machine's own ports are behind no proxy.
            secure, ours = self._url.startswith("https:"), is_loopback(self._url)
            self._client = httpx.Client(verify=secure, trust_env=not ours, follow_redirects=False)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            with (
                _limited(seconds),
                self._client.stream("POST", self._url, content=body, headers=headers, timeout=seconds) as response,
            ):
                data = self._body_of(response, time.monotonic() + seconds)
                status, wait = response.status_code, _patience(response.headers.get("retry-after", ""))
        except (_TimeIsUp, httpx.TimeoutException):
            self.close()
            raise _Trouble(f"the endpoint does not answer within {seconds:.3g} s") from None
        except httpx.InvalidURL as error:
            raise _Trouble(f"--url: {error}", again=False) from None
        except httpx.UnsupportedProtocol as error:
            raise _Trouble(f"--url: {error}", again=False) from None
        except httpx.ConnectError as error:
            raise _Trouble(f"the endpoint cannot be reached: {self._short(str(error))}", refused=True) from None
        except (httpx.HTTPError, httpx.StreamError) as error:  # a stream that was cut, a line that is not HTTP
            self.close()
            raise _Trouble(f"the endpoint breaks off: {self._short(str(error)) or type(error).__name__}") from None
        if status == 200:
            return data
        text = f"the endpoint answers {status}{self._reason(data)}"
        refused = 300 <= status < 500
        if status in _AGAIN:
            patient = status in _PATIENCE
            raise _Trouble(text, wait=wait if patient else None, refused=refused or patient, failed=True)
        raise _Trouble(text, again=False, refused=refused, failed=True)

    def _body_of(self, response: Any, deadline: float) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _Trouble("the endpoint compresses its answer, which was not asked for")
        data = bytearray()
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > MAX_BODY:
                self.close()
                raise _Trouble(f"the endpoint's answer is longer than {MAX_BODY} bytes")
            if time.monotonic() > deadline:
                raise _TimeIsUp
        return bytes(data)

    def _read(self, data: bytes, asked: bytes) -> ModelAnswer:
        """Parse a chat completion. Raises _Trouble."""
        try:
            said = json.loads(data)
            choice = said["choices"][0]
            message = choice["message"]
            content = message["content"] if message.get("content") is not None else message.get("refusal")
            text = content if isinstance(content, str) else "".join(_parts(content))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _Trouble("the endpoint's answer is no chat completion") from None
        usage = said.get("usage") if isinstance(said.get("usage"), dict) else {}
        tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        return ModelAnswer(
            self._without_key(text.encode("utf-8", "replace").decode()),  # JSON can write half of a surrogate pair
            choice.get("finish_reason") == "length",
            _estimate(len(asked)) if tokens_in is None else tokens_in,
            _estimate(len(text)) if tokens_out is None else tokens_out,
            tokens_in is None or tokens_out is None,
            0,
        )

    def _reason(self, data: bytes) -> str:
        """Return `: REASON` for an error that states one, else ""."""
        try:
            error = json.loads(data)["error"]
            text = error if isinstance(error, str) else str(error["message"])
        except (ValueError, LookupError, TypeError, RecursionError):
            text = ""
        return f": {self._short(text)}" if text.strip() else ""

    def _short(self, text: str) -> str:
        """Return the text in one short line, without the key: it goes first, because half of one would stay."""
        return replace_unprintable(" ".join(self._without_key(text).split()))[:200]

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "(the key)") if self._key else text

    def _tell_once(self, text: str) -> None:
        """Print each kind of trouble once in the life of the process; a record counts how often it occurred."""
        kind = _NUMBER.sub("", text)
        if kind not in self._told and len(self._told) < 20:
            self._told.add(kind)
            print(f"llm: {text}; trying again", file=sys.stderr, flush=True)


def is_loopback(url: str) -> bool:
    return (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp after so many seconds, in the main thread.

    The time-outs of HTTP are not enough: they start again with every byte that arrives.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_time_is_up)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_time_is_up(number: int, frame: object) -> None:
    raise _TimeIsUp


def _parts(content: Any) -> Iterator[str]:
    """Yield the text parts of a content in parts. Raises TypeError for anything else."""
    if content is None:
        return
    for part in content:
        if part.get("type") == "text":
            yield str(part["text"])


def _estimate(characters: int) -> int:
    """Estimate how many tokens a text of that length has."""
    return characters // _CHARACTERS + 1


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MAX_TOKENS else None


def _patience(text: str, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date, or None if it has neither."""
    text = text.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 12:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None
