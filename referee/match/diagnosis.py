"""Explanations for a bot's author of why no valid answer came: the question, the output, its likely cause, the remedy.

Everything here is a pure function of the dialogue and of stderr. The player decides when to show it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from ggp.protocol.grammar import BOM

PATIENCE = 5.0  # seconds without a valid answer after which a notice is shown
FORM = "an answer begins with = and ends with an empty line"
_SHOWN = 160  # characters of the output that are shown
_LINES = 3  # lines of the output that are shown
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
# A shell takes our first question for a program's name. A script may report another missing program, such as java.
_SHELL = re.compile(
    r": (1|protocol_version): (command )?not found$|: (command not found|Unknown command): (1|protocol_version)$"
    r"|^(sh|bash|zsh)-[\d.]+[$#]",
    re.MULTILINE,
)
_PROMPT = re.compile(r"(^|\n)[^\n]{0,60}([$#]|(?<![\d ])%) $")  # but no percentage
_PYTHON = re.compile(r'File "<stdin>"|^>>> |Type "help", "copyright"', re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(.+)", line (\d+)', re.MULTILINE)
_FLUSH = "the bot is slow to load, or does not flush its output after each answer"
_USAGE = re.compile(r"^\s*usage:", re.MULTILINE | re.IGNORECASE)


class Silence(NamedTuple):
    """The state of a program without a valid answer: the question, its output since then, stderr, its command."""

    asked: str
    said: bytes
    stderr: str
    command: str

    @property
    def came(self) -> str:
        """Return the program's output as one quoted line with escapes; "" if it printed nothing."""
        return _quoted(self.said)

    @property
    def cause(self) -> str:
        """Return what the output looks like and what to change; "" if it is not recognized."""
        text = self.said.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        for look in (_of_another_protocol, _of_a_prompt, _of_a_failure):
            if found := look(text, self.stderr, self.command):
                return found
        return _of_the_form(self.said)

    @property
    def remedy(self) -> str:
        """Return the cause; if answers have the wrong form, also name the command that checks them."""
        cause = self.cause
        return f"{cause}; `ggp check -- {self.command or 'COMMAND'}` shows each step" if FORM in cause else cause


Notify = Callable[[Silence], object]
"""A function that is called when a program has given no valid answer for PATIENCE seconds."""


def notice(name: str, silence: Silence, start: float, hint: bool = True) -> str:
    """Return the lines shown while we wait for a valid answer: the question, the output so far, and the likely cause.

    Args:
        name: The name of the bot.
        silence: The question and the output so far.
        start: Seconds that the bot has to start.
        hint: Name `ggp check` as a remedy.
    """
    starting = _words(silence.asked)[:1] in (["protocol_version"], ["name"], ["version"], ["list_commands"])
    rest = f"; it may take {start:g} s to start" if starting else ""
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
    """Return one line that says why a program is at fault: the problem, how it ended, its output, and the remedy.

    The form of answers is not mentioned if an exit status or stderr explains why the program ended.

    Args:
        problem: What the connection found.
        silence: The question and the output so far.
        ended: How the process ended; "" while it runs.
    """
    words = [problem]
    if ended:
        words.append(ended)
    if silence.came and silence.came.strip("'") not in problem:
        words.append(
            f"to `{silence.asked}` it printed {silence.came}" if silence.asked else f"it printed {silence.came}"
        )
    # A crash is not caused by the form of an answer.
    explained = ended.partition(";")[0] not in ("", "exit status 0")
    if len(logged := last_words(silence.stderr)) > len("$ #"):
        words.append(logged)
        explained = True
    remedy = silence.remedy
    if remedy and not (explained and FORM in remedy):
        words.append(remedy)
    return "; ".join(words)


def last_words(stderr: str) -> str:
    """Return the last line of stderr; after a Python traceback with file and line."""
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
            "this is an xboard engine, which does not speak GTP: if it has an option for UCI, write "
            f'"ggp bot uci -- {command or "COMMAND"}" with that option as the bot'
        )
    return ""


def _of_a_prompt(text: str, stderr: str, command: str) -> str:
    both = f"{text}\n{stderr}"
    if _PYTHON.search(both):
        return 'the Python interpreter runs without a script: name the script, as in "python bot.py"'
    if _SHELL.search(both) or _PROMPT.search(text) or _PROMPT.search(stderr):
        return 'a shell answers, not a bot: name the program itself, as in "./my_bot --gtp"'
    return ""


def _of_a_failure(text: str, stderr: str, command: str) -> str:
    if _TRACEBACK in text:
        return f"the program failed: {last_words(text[text.rfind(_TRACEBACK) :])}"
    if _USAGE.search(text) or _USAGE.search(stderr):
        return "it printed its usage message: correct its command line"
    return ""


def _of_the_form(said: bytes) -> str:
    """Return which part of the form of an answer the output lacks, as beginners' bots often do."""
    text = said.translate(None, b"\r\0")
    if not said:
        return ""
    if said.count(b"\0") > len(said) // 4 or said[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"its output is UTF-16: write UTF-8; {FORM}"
    if b"\r" in said and b"\n" not in said:
        return f"its lines end with CR alone: end them with LF; {FORM}"
    if BOM in said and said.lstrip(b"\r\n ").startswith((BOM + b"=", BOM + b"?")):
        return f"its answer begins with a byte-order mark: write UTF-8 without one; {FORM}"
    if re.search(rb"^[=?]", text, re.MULTILINE):
        if text.endswith(b"\n"):
            return f"the empty line after its answer is missing: {FORM}"
        return f"its answer is incomplete: {FORM}; flush the output after it"
    if re.search(rb"^\s+[=?]", text, re.MULTILINE):
        return f"a blank precedes the =: {FORM}"
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
