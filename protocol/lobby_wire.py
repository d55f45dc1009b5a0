"""The messages between a lobby and a bot that dials in: two frames, `[kind][payload]` (PROTOCOL §7).

Pure functions convert between frames and values and enforce the limits; each end decides when to send what. Any invalid
message raises FrameError.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ggp.protocol.errors import LocalProtocolError, RemoteProtocolError
from ggp.protocol.grammar import BOM, CONTROL, MAX_ANSWER, MAX_LINE

VERSION = 1
FRAMES = 2
MAX_COMMAND = MAX_LINE + 1  # bytes, with the LF
MAX_TEXT = 64 * 1024  # bytes of a hello, a line of stderr or a reason
MAX_FRAME = MAX_ANSWER  # bytes of the largest possible frame, the limit for a socket
MAX_GAMES = 64
# The first word of a `B` reason, before a colon:
REPLACED = "replaced"  # a newer connection of the same bot took this one's place
REFUSED = "refused"  # sent by the lobby: dialling again does not help, the author has to change something
LEAVING = "leaving"  # sent by a bot: it finishes its game, takes no other, and waits for the lobby's goodbye
LEFT = "left"  # sent by the lobby: its goodbye to a leaving bot
MOVED = "moved"  # sent by the lobby: the bot belongs at another address, which is the next word
NAME = 64  # characters of a name or a session


class LobbyFault(StrEnum):
    """The metrics label of an invalid message."""

    FRAMES = "frames"  # not two frames
    KIND = "kind"  # the first frame is not a known kind
    SIZE = "size"  # more bytes than the kind allows
    MSGPACK = "msgpack"  # a hello that is not a msgpack map
    HELLO = "hello"  # a hello with missing or invalid fields
    VERSION = "version"  # another protocol version
    COMMAND = "command"  # not exactly one line
    ANSWER = "answer"  # not exactly one whole answer


class FrameError(RemoteProtocolError):
    """An invalid message; `fault` is its metrics label, str() says on one line what is wrong."""

    def __init__(self, fault: LobbyFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class Hello(msgspec.Struct, frozen=True, omit_defaults=True):
    """`H`: a bot's introduction. It proves nothing; the key of the connection identifies the bot.

    Attributes:
        name: The bot's name.
        games: The games that it plays.
        session: A random text chosen when the bot starts, the same on each of its connections, so that a reconnecting
            process differs from a restarted one. "" if not given.
        challenges: Whether others may challenge it to unrated games.
        seat: Whether a person plays: unrated games only, in pools that allow it.
        moves: Whether it knows several addresses of the lobby, and follows a `B` that names another.
    """

    name: str
    games: tuple[str, ...] = ()
    session: str = ""
    challenges: bool = True
    seat: bool = False
    moves: bool = False


class LobbyAsk(msgspec.Struct, frozen=True):
    """`C`: one command line, with its LF."""

    data: bytes


class LobbyAnswer(msgspec.Struct, frozen=True):
    """`R`: one whole answer, with its empty line, without control characters."""

    data: bytes


class Stderr(msgspec.Struct, frozen=True):
    """`E`: a printable line, without LF, that the bot wrote to stderr."""

    text: str


class Bye(msgspec.Struct, frozen=True):
    """`B`: the end of the conversation, with the reason in one printable line."""

    reason: str


Message = Hello | LobbyAsk | LobbyAnswer | Stderr | Bye
_NEVER_SENT = CONTROL + b"\t\n#"
_MARKS = (b"=", b"?")
_SIZES = {b"H": MAX_TEXT, b"C": MAX_COMMAND, b"R": MAX_ANSWER, b"E": MAX_TEXT, b"B": MAX_TEXT}


class _Wire(msgspec.Struct):
    """A hello as it travels. Unknown keys of the map are ignored."""

    ggp: Annotated[int, Meta(ge=0, lt=2**31)]
    name: Annotated[str, Meta(min_length=1, max_length=NAME)]
    games: Annotated[list[Annotated[str, Meta(min_length=1, max_length=NAME)]], Meta(max_length=MAX_GAMES)]
    session: Annotated[str, Meta(max_length=NAME)] = ""
    challenges: bool = True
    seat: bool = False
    moves: bool = False


_read_hello = msgspec.msgpack.Decoder(_Wire).decode
_read_version = msgspec.msgpack.Decoder(dict[str, Any]).decode


def decode(frames: Sequence[bytes]) -> Message:
    """Decode the frames of one message, given without a routing id.

    Raises:
        FrameError: The message is invalid; no other exception is raised.
    """
    if len(frames) != FRAMES:
        raise FrameError(LobbyFault.FRAMES, f"a message has {FRAMES} frames, a kind and a payload, not {len(frames)}")
    kind, payload = frames
    most = _SIZES.get(kind)
    if most is None:
        raise FrameError(LobbyFault.KIND, f"unknown kind {bytes(kind[:20])!r}: the kinds are H C R E B")
    if len(payload) > most:
        raise FrameError(LobbyFault.SIZE, f"a {kind.decode()} message has at most {most} bytes, not {len(payload)}")
    if kind == b"R":
        return LobbyAnswer(_answer(payload))
    if kind == b"C":
        return LobbyAsk(_command(payload))
    if kind == b"E":
        return Stderr(_text(payload))
    return _hello(payload) if kind == b"H" else Bye(_text(payload))


def plain_answer(frames: Sequence[bytes]) -> bytes | None:
    """Return the answer in these frames, or None if they hold anything else or need the checks of `decode`."""
    if len(frames) != FRAMES or frames[0] != b"R":
        return None
    payload = frames[1]
    size = len(payload)
    if size > MAX_ANSWER or payload[:1] not in _MARKS or not 0 < payload.find(b"\n\n") == size - 2:
        return None
    return payload if len(payload.translate(None, CONTROL)) == size else None


def encode(message: Message) -> list[bytes]:
    """Return the two frames of a message.

    Raises:
        LocalProtocolError: `decode` would refuse or change the message.
    """
    frames = _frames(message)
    try:
        same = decode(frames) == message
    except FrameError as error:
        raise LocalProtocolError(f"the message cannot be sent: {error}") from None
    if not same:
        raise LocalProtocolError(f"text must be one line of printable characters, at most {MAX_TEXT} bytes")
    return frames


def printable(data: bytes | str, most: int = MAX_TEXT) -> str:
    """Return bytes as one line of text for a log, an `E` or a `B`, at most `most` bytes of UTF-8.

    Unprintable characters are escaped or dropped.
    """
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    raw = text.encode("utf-8", "backslashreplace")
    return raw[:most].decode("utf-8", "ignore")


def _frames(message: Message) -> list[bytes]:
    match message:
        case LobbyAnswer(data):
            return [b"R", data]
        case LobbyAsk(data):
            return [b"C", data]
        case Stderr(text):
            return [b"E", text.encode("utf-8", "backslashreplace")]
        case Bye(reason):
            return [b"B", reason.encode("utf-8", "backslashreplace")]
        case _:
            fields: dict[str, object] = {"ggp": VERSION, "name": message.name, "games": message.games}
            fields |= {"session": message.session} if message.session else {}
            fields |= {} if message.challenges else {"challenges": False}
            fields |= {"seat": True} if message.seat else {}
            fields |= {"moves": True} if message.moves else {}
            try:
                return [b"H", msgspec.msgpack.encode(fields)]
            except UnicodeEncodeError:
                raise LocalProtocolError("the hello cannot be encoded as UTF-8") from None


def _hello(payload: bytes) -> Hello:
    try:
        wire = _read_hello(payload)
    except msgspec.ValidationError as error:
        raise _invalid(payload, str(error)) from None
    except Exception as error:  # a stranger's data can make the decoder fail in any way: nesting, UTF-8, numbers, times
        raise FrameError(LobbyFault.MSGPACK, f"the hello is not a msgpack map: {printable(str(error), 200)}") from None
    if wire.ggp != VERSION:
        raise _another_version(wire.ggp)
    words = [wire.name, wire.session, *wire.games]
    if not all(word.isprintable() for word in words) or any(" " in game for game in wire.games):
        raise FrameError(LobbyFault.HELLO, "the names in a hello must be printable, and game names without blanks")
    return Hello(wire.name, tuple(wire.games), wire.session, wire.challenges, wire.seat, wire.moves)


def _invalid(payload: bytes, reason: str) -> FrameError:
    """Return the error for an invalid hello.

    The version is checked first, because the hello of a later version may differ in anything.
    """
    try:
        version = _read_version(payload).get("ggp")
    except Exception:  # as above
        return FrameError(LobbyFault.MSGPACK, "the hello is not a msgpack map with text as keys")
    if isinstance(version, int) and version != VERSION:
        return _another_version(version)
    return FrameError(LobbyFault.HELLO, f"a hello needs ggp, name and games: {printable(reason, 200)}")


def _another_version(version: int) -> FrameError:
    return FrameError(LobbyFault.VERSION, f"the hello is for GGP {version}, but this is GGP {VERSION}")


def _command(payload: bytes) -> bytes:
    """Check that the payload is exactly one line that may be sent (PROTOCOL §2.13), and return it."""
    if payload[-1:] != b"\n":
        raise FrameError(LobbyFault.COMMAND, f"a command must end with LF: {printable(payload[:80])}")
    line = payload[:-1]
    if not line.strip(b" "):
        raise FrameError(LobbyFault.COMMAND, "an empty line is not a command")
    if line.translate(None, _NEVER_SENT) != line:
        raise FrameError(
            LobbyFault.COMMAND, f"a command may not contain control characters or #: {printable(line[:80])}"
        )
    try:
        line.decode()
    except UnicodeDecodeError:
        raise FrameError(LobbyFault.COMMAND, f"a command must be UTF-8: {printable(line[:80])}") from None
    return payload


def _answer(payload: bytes) -> bytes:
    """Return exactly one whole answer, without the control characters that rule 7 of framing tolerates."""
    data = payload.translate(None, CONTROL).removeprefix(BOM)
    if data[:1] not in (b"=", b"?"):
        raise FrameError(LobbyFault.ANSWER, f"an answer must begin with = or ?: {printable(data[:80])}")
    if not 0 < data.find(b"\n\n") == len(data) - 2:
        raise FrameError(
            LobbyFault.ANSWER, f"a message must be one whole answer with its empty line: {printable(data[:80])}"
        )
    return data


def _text(payload: bytes) -> str:
    return printable(payload.removesuffix(b"\n"))


def _escape(char: str) -> str:
    """Replace an invisible character: HT and LF become blanks, other controls are dropped, the rest is escaped."""
    if char in "\t\n":
        return " "
    return "" if char < " " or char == "\x7f" else f"\\u{ord(char):04x}"
