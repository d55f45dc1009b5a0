"""A client of a chat completions API: it asks a question within a time limit and handles every kind of failure.

The key is only in the header of each request. It is removed from everything that the endpoint returns.
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

MAX_BODY = 8 * 1024 * 1024  # bytes of a response
MAX_TOKENS = 10**9  # tokens of one answer; a larger number is not credible
TRIES = 5  # failed requests of one question, without those where the endpoint asks us to wait
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before the next try; doubled each time
_PATIENCE = (429, 503, 529)  # statuses that ask us to wait
_AGAIN = (408, 409, 425, 500, 502, 504, *_PATIENCE)
_MINUTE = 60.0
_NUMBER = re.compile(r"[0-9.]+")
_CHARACTERS = 4  # characters per token, if the endpoint does not count


class ModelAnswer(NamedTuple):
    """The answer of a model.

    Attributes:
        cut: Whether it ended at the limit of tokens.
        estimated: Whether the tokens are estimated, because the endpoint did not count them.
        tries: Number of requests.
        lost: Estimated tokens of requests that were accepted but not answered; providers charge for them too.
    """

    text: str
    cut: bool
    tokens_in: int
    tokens_out: int
    estimated: bool
    tries: int
    lost: int = 0


class EndpointFailed(Exception):
    """A failure to get an answer; str() gives the reason in one line. `tries` and `lost` are as in ModelAnswer."""

    def __init__(self, text: str, tries: int = 0, lost: int = 0) -> None:
        super().__init__(text)
        self.tries, self.lost = tries, lost


class _Trouble(Exception):
    """A request that failed.

    Attributes:
        again: Whether another request may succeed.
        wait: Seconds that the endpoint asks us to wait.
        refused: Whether the request was not accepted.
        failed: Whether the endpoint reported its own failure; it then counts no tokens.
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

    Args:
        url: The base, such as http://127.0.0.1:8000/v1.
        body: Further members of each request.
        key: The key, or "".
        per_minute: The most requests a minute, 0 for no limit.
    """

    def __init__(self, url: str, body: Mapping[str, Any], key: str = "", per_minute: int = 0) -> None:
        self._httpx = load("llm", "httpx", "httpx")
        self._url = url if url.endswith("/chat/completions") else f"{url.rstrip('/')}/chat/completions"
        self._body, self._key = body, key
        self._per_minute = per_minute
        self._sent: deque[float] = deque()  # times of the accepted requests
        self._told: set[str] = set()
        self._client: Any = None

    def ask(self, messages: Sequence[Mapping[str, Any]], seconds: float, longest: float, **more: Any) -> ModelAnswer:
        """Ask the model and return its answer.

        Args:
            messages: The conversation so far.
            seconds: Time for everything, repeated requests included.
            longest: Seconds for each request.
            more: Further members of this request.

        Raises:
            EndpointFailed: There is no answer.
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
                pause = wait * random.uniform(0.75, 1.0)  # even if the endpoint does not ask us to wait
                if trouble.wait is not None:
                    pause = trouble.wait if trouble.wait >= FIRST_WAIT else max(trouble.wait, pause)
                wait = min(2 * wait, LONGEST_WAIT)
                if not trouble.again:
                    raise EndpointFailed(text, tries, lost) from None
                if failures >= TRIES:
                    raise EndpointFailed(f"{text}, {failures} times", tries, lost) from None
                if time.monotonic() + pause >= deadline:
                    said = "" if trouble.wait is None else f" and asks to wait {trouble.wait:.0f} s"
                    raise EndpointFailed(f"{text}{said}: no time is left", tries, lost) from None
                self._tell_once(text)
                time.sleep(pause)

    def close(self) -> None:
        """Close the connection (idempotent)."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _pace(self, deadline: float, tries: int, lost: int) -> None:
        """Wait until one more request is within the limit per minute.

        Raises:
            EndpointFailed: That would be too late.
        """
        while self._per_minute:
            now = time.monotonic()
            while self._sent and now - self._sent[0] >= _MINUTE:
                self._sent.popleft()
            if len(self._sent) < self._per_minute:
                return
            pause = self._sent[0] + _MINUTE - now
            if now + pause >= deadline:
                raise EndpointFailed(
                    f"--per-minute {self._per_minute} allows no further request in the time left", tries, lost
                )
            time.sleep(pause)

    def _request(self, body: bytes, seconds: float) -> bytes:
        """Send one request and return the body of a success.

        Raises:
            _Trouble: The request failed.
        """
        httpx = self._httpx
        if self._client is None:
            # Certificates are needed only for https, and this machine's own ports are not behind a proxy.
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
            raise _Trouble(f"the endpoint did not answer within {seconds:.3g} s") from None
        except httpx.InvalidURL as error:
            raise _Trouble(f"--url: {error}", again=False) from None
        except httpx.UnsupportedProtocol as error:
            raise _Trouble(f"--url: {error}", again=False) from None
        except httpx.ConnectError as error:
            raise _Trouble(f"the endpoint cannot be reached: {self._short(str(error))}", refused=True) from None
        except (httpx.HTTPError, httpx.StreamError) as error:  # an interrupted stream, or a line that is not HTTP
            self.close()
            raise _Trouble(f"the endpoint broke off: {self._short(str(error)) or type(error).__name__}") from None
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
            raise _Trouble("the endpoint compressed its answer although it was asked not to")
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
        """Parse a chat completion.

        Raises:
            _Trouble: It is not one.
        """
        try:
            said = json.loads(data)
            choice = said["choices"][0]
            message = choice["message"]
            content = message["content"] if message.get("content") is not None else message.get("refusal")
            text = content if isinstance(content, str) else "".join(_parts(content))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _Trouble("the endpoint's answer is not a chat completion") from None
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
        """Return the text as one short line without the key.

        The key is removed before the text is shortened, so that no half of it stays.
        """
        return replace_unprintable(" ".join(self._without_key(text).split()))[:200]

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "(the key)") if self._key else text

    def _tell_once(self, text: str) -> None:
        """Print each kind of trouble only once per process; records count how often it occurred."""
        kind = _NUMBER.sub("", text)
        if kind not in self._told and len(self._told) < 20:
            self._told.add(kind)
            print(f"llm: {text}; retrying", file=sys.stderr, flush=True)


def is_loopback(url: str) -> bool:
    """Return True if the URL is on this machine."""
    return (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp after so many seconds, in the main thread.

    HTTP timeouts are not enough, because they start again with every byte that arrives.
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
    """Yield the text parts of a content that consists of parts. Raise TypeError for anything else."""
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
    """Return the seconds of a Retry-After header, a number or a date, or None if it is neither."""
    text = text.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 12:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None
