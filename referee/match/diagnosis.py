"""Explain to a bot's author why no valid answer came: what was asked, what came back, what it looks like, what to do.

Everything here is a pure function of the dialogue and of stderr; when it is called is the player's part.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from ggp.protocol.grammar import BOM

PATIENCE = 5.0  # seconds without a valid answer after which a notice is shown
FORM = "an answer begins with = and ends with an empty line"
_SHOWN = 160  # characters of what came that are shown
_LINES = 3  # of it
_UCI = re.compile(
    r"^(uciok|readyok|bestmove |id name |option name .* type |info (depth|string|score) )"
    r"|by the Stockfish developers|^Unknown command: .*(Type help|\d protocol_version)",
    re.MULTILINE,
)
_XBOARD = re.compile(
    r"^(feature (\w+=|done)|Error \((unknown|ambiguous|too many|too few)|tellics |tellall |Illegal move: |"
    r"move [a-h][1-8][a-h][1-8]|GNU Chess )",
    re.MULTILINE,
)
# A shell looks for programs called like our first question. A script's own "java: command not found" is another matter.
_SHELL = re.compile(
    r": (1|protocol_version): (command )?not found$|: (command not found|Unknown command): (1|protocol_version)$"
    r"|^(sh|bash|zsh)-[\d.]+[$#]",
    re.MULTILINE,
)
_PROMPT = re.compile(r"(^|\n)[^\n]{0,60}([$#]|(?<![\d ])%) $")  # but no percentage
_PYTHON = re.compile(r'File "<stdin>"|^>>> |Type "help", "copyright"', re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(.+)", line (\d+)', re.MULTILINE)
_FLUSH = "if it does not load that long, flush the output after each answer"
_USAGE = re.compile(r"^\s*usage:", re.MULTILINE | re.IGNORECASE)


class Silence(NamedTuple):
    """A program that has given no valid answer: the question, the bytes since then, stderr, its command."""

    asked: str
    said: bytes
    stderr: str
    command: str

    @property
    def came(self) -> str:
        """Return what it printed, as one quoted line with escapes; "" if it printed nothing."""
        return _quoted(self.said)

    @property
    def cause(self) -> str:
        """Say what its output looks like and what to change; "" if it looks like nothing known."""
        text = self.said.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        for look in (_of_another_protocol, _of_a_prompt, _of_a_failure):
            if found := look(text, self.stderr, self.command):
                return found
        return _of_the_form(self.said)

    @property
    def remedy(self) -> str:
        """Return the cause, and if its answers have another form the command that checks them."""
        cause = self.cause
        return f"{cause}; `ggp check -- {self.command or 'COMMAND'}` shows each step" if FORM in cause else cause


Notify = Callable[[Silence], object]
"""Told that a program has given no valid answer for PATIENCE seconds."""


def notice(name: str, silence: Silence, start: float, hint: bool = True) -> str:
    """Return the lines that say on the screen what was asked and what came, before the time is up.

    Args:
        name: the bot's.
        start: seconds in which it has to start.
        hint: whether to name `ggp check`.
    """
    starting = _words(silence.asked)[:1] in (["protocol_version"], ["name"], ["version"], ["list_commands"])
    rest = f", and it may take {start:g} s to start" if starting else ""
    lines = [
        f"{name}: no valid answer for {PATIENCE:g} s{rest}",
        f"  asked:  {silence.asked}",
        f"  got:    {silence.came or 'nothing'}",
    ]
    if logged := last_words(silence.stderr):
        lines.append(f"  stderr: {logged}")
    cause = silence.remedy if hint else silence.cause
    if not (cause or silence.came):
        cause = _FLUSH
    if cause:
        lines.append(f"  cause:  {cause}")
    return "\n".join(lines)


def reason(problem: str, silence: Silence, ended: str = "") -> str:
    """Return one line that says why a program is at fault: the problem, how it ended, what it printed, and the remedy.

    The form of answers is no remedy where an exit status or stderr explains why the program ended.

    Args:
        problem: what the connection found.
        ended: how the process ended, "" while it runs.
    """
    words = [problem]
    if ended:
        words.append(ended)
    if silence.came and silence.came.strip("'") not in problem:
        words.append(
            f"to `{silence.asked}` it printed {silence.came}" if silence.asked else f"it printed {silence.came}"
        )
    explained = ended.partition(";")[0] not in (
        "",
        "exit status 0",
    )  # a crash, which the form of an answer did not cause
    if len(logged := last_words(silence.stderr)) > len("$ #"):
        words.append(logged)
        explained = True
    remedy = silence.remedy
    if remedy and not (explained and FORM in remedy):
        words.append(remedy)
    return "; ".join(words)


def last_words(stderr: str) -> str:
    """Return the last line of stderr, which often says why a program ended; after a traceback with file and line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if not lines:
        return ""
    last = lines[-1][:300]
    begun = stderr.rfind(_TRACEBACK)
    if begun < 0:
        return last
    places = _FRAME.findall(stderr, begun)
    return f"{last} ({places[-1][0]}, line {places[-1][1]})" if places else last


def _words(asked: str) -> list[str]:
    words = asked.split()
    return words[1:] if words[:1] and words[0].isdigit() else words


def _of_another_protocol(text: str, stderr: str, command: str) -> str:
    if _UCI.search(text):
        return f'this is a UCI engine: write "ggp bot uci -- {command or "COMMAND"}" as the bot'
    if _XBOARD.search(text):
        return (
            "this is an xboard engine, which speaks no GTP: if it has an option for UCI, write "
            f'"ggp bot uci -- {command or "COMMAND"}" with that option as the bot'
        )
    return ""


def _of_a_prompt(text: str, stderr: str, command: str) -> str:
    both = f"{text}\n{stderr}"
    if _PYTHON.search(both):
        return 'Python reads the questions as its program: name the script, as in "python bot.py"'
    if _SHELL.search(both) or _PROMPT.search(text) or _PROMPT.search(stderr):
        return 'a shell answers, not a bot: name the program itself, as in "./my_bot --gtp"'
    return ""


def _of_a_failure(text: str, stderr: str, command: str) -> str:
    if _TRACEBACK in text:
        return f"its program failed: {last_words(text[text.rfind(_TRACEBACK) :])}"
    if _USAGE.search(text) or _USAGE.search(stderr):
        return "it printed how it is used: complete its command line"
    return ""


def _of_the_form(said: bytes) -> str:
    """Say what the answers of a beginner's bot lack."""
    text = said.translate(None, b"\r\0")
    if not said:
        return ""
    if said.count(b"\0") > len(said) // 4 or said[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"it writes UTF-16: write UTF-8; {FORM}"
    if b"\r" in said and b"\n" not in said:
        return f"it ends lines with CR alone: end them with LF; {FORM}"
    if BOM in said and said.lstrip(b"\r\n ").startswith((BOM + b"=", BOM + b"?")):
        return f"a byte-order mark stands before its answer: write UTF-8 without one; {FORM}"
    if re.search(rb"^[=?]", text, re.MULTILINE):
        if text.endswith(b"\n"):
            return f"the empty line after its answer is missing: {FORM}"
        return f"its answer is not finished: {FORM}; flush the output after it"
    if re.search(rb"^\s+[=?]", text, re.MULTILINE):
        return f"a blank stands before the =: {FORM}"
    return FORM


def _quoted(said: bytes) -> str:
    lines = [
        line for line in said.decode("utf-8", "backslashreplace").replace("\r\n", "\n").split("\n") if line.strip()
    ]
    if not lines:
        return ""
    text = "\n".join(lines[:_LINES])
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:_SHOWN])
    return f"'{shown}'" + (" …" if len(lines) > _LINES or len(text) > _SHOWN else "")
