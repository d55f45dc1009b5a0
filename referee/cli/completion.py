"""`ggp completion bash|zsh|fish`: print a completion script, and answer what it asks at every Tab.

Only the command that is being typed is imported.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete
from click.types import StringParamType, UnprocessedParamType

from ggp.protocol.entry_points import entry_points
from ggp.referee.cli.main import COMPLETE, GROUP, commands
from ggp.referee.command_line import BAD_USAGE
from ggp.referee.match.bot_spec import BUILT_IN

SHELLS = {
    "bash": 'eval "$(ggp completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(ggp completion zsh)"   in ~/.zshrc, after compinit',
    "fish": "ggp completion fish | source   in ~/.config/fish/config.fish",
}
# Without these changes to click's scripts, bash and zsh put a blank after `size=`; fish does not.
_NO_BLANK = {
    "bash": (
        "    return 0\n",
        "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace\n    return 0\n",
    ),
    "zsh": (
        "        compadd -U -V unsorted -a completions\n",
        "        compadd -U -V unsorted -S '' -- ${(M)completions:#*=}\n"
        "        compadd -U -V unsorted -- ${completions:#*=}\n"
        "        return 0\n",
    ),
}
GAMES = "ggp.games"
_FILE_WORDS = ("FILE", "PLACE", "RECORD", "LADDER", "LOBBY", "COMMAND", "BOT", "DIR", "STORE")


def main(argv: list[str]) -> int:
    """Print a script, or answer the question that the script put into the environment; return the exit status."""
    return answer(os.environ[COMPLETE]) if COMPLETE in os.environ and not argv else print_script(argv)


def print_script(words: Sequence[str]) -> int:
    """Print the script for the shell that is named; return the exit status."""
    if list(words) in (["-h"], ["--help"]):
        rows = (f"  {shell:6}{line}" for shell, line in SHELLS.items())
        print("Usage: ggp completion SHELL", "", "Prints a script that completes the words of ggp:", *rows, sep="\n")
        return 0
    if len(words) != 1 or words[0] not in SHELLS:
        print(f"ggp completion: name a shell: {', '.join(SHELLS)} (ggp completion --help)", file=sys.stderr)
        return BAD_USAGE
    shell = get_completion_class(words[0])
    assert shell is not None
    print(shell(_Ggp(), {}, "ggp", COMPLETE).source().replace(*_NO_BLANK.get(words[0], ("", ""))))
    return 0


def answer(instruction: str) -> int:
    """Print the completions that the shell's script asks for; return the exit status."""
    return shell_complete(_Ggp(), {}, "ggp", COMPLETE, instruction)


class _Lazy(click.Group):
    """A group that knows a line about each command, and imports only the one that is completed."""

    def __init__(self, name: str, lines: dict[str, str], load: Callable[[str], click.Command | None]) -> None:
        super().__init__(name, context_settings={"help_option_names": ["-h", "--help"]})
        self._lines, self._load = lines, load

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._load(cmd_name) if cmd_name in self._lines else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return names with their lines. Click's own version would import every command."""
        names = [CompletionItem(name, help=line) for name, line in self._lines.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


class _Ggp(_Lazy):
    def __init__(self) -> None:
        lines = commands()
        ours = {"help": "what a command does", "completion": "print a completion script for a shell"}
        super().__init__("ggp", {**lines, **ours}, _command)
        self.params.append(click.Option(["--version"], is_flag=True, help="Say which version this is."))


def _command(name: str) -> click.Command | None:
    """Return a command of ggp for click. An error at the import of another distribution's module is not hidden."""
    if name == "help":
        return _Words("help", lambda before, typed: list(commands()) if not before else [])
    if name == "completion":
        return _Words("completion", lambda before, typed: list(SHELLS) if not before else [])
    return _of_group(GROUP, name)


def _of_group(group: str, name: str) -> click.Command | None:
    module = next((import_module(point.module) for point in entry_points(group) if point.name == name), None)
    return _of_module(module, name) if module else None


def _of_module(module: ModuleType, name: str) -> click.Command | None:
    """Find the command of a module: its table of sub-commands, its completion function, or its click command."""
    table = getattr(module, "SUBCOMMANDS", None)
    if table is not None:
        return _Lazy(name, table, lambda sub: _of_group(module.GROUP, sub))
    complete = getattr(module, "complete", None)
    if complete is not None:
        return _Words(name, complete)
    found = [each for each in vars(module).values() if isinstance(each, click.Command)]
    found.sort(key=lambda each: (each.name != name, not str(each.name).startswith(name)))
    command = found[0] if found else None
    return _with_kinds(command) if command else None


class _Words(click.Command):
    """A command without click: `complete(words before, beginning)` returns the possible words."""

    def __init__(self, name: str, complete: Callable[[Sequence[str], str], Sequence[str]]) -> None:
        words = click.Argument(["words"], nargs=-1, type=_Kind(lambda ctx, typed: self.shell_complete(ctx, typed)))
        super().__init__(name, params=[words], context_settings={"ignore_unknown_options": True}, add_help_option=False)
        self._complete = complete

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return _starting(self._complete(ctx.params.get("words") or (), incomplete), incomplete)


class _Kind(StringParamType):
    """A text that is completed by a function of the context and the beginning."""

    def __init__(self, complete: Callable[[click.Context, str], list[CompletionItem]]) -> None:
        self._complete = complete

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._complete(ctx, incomplete)


def _with_kinds(command: click.Command) -> click.Command:
    """Set for each text of its command line how to complete it; click knows choices and paths."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _with_kinds(each)
    for parameter in command.params:
        if isinstance(parameter.type, (StringParamType, UnprocessedParamType)):
            parameter.type = _kind(parameter)
    return command


def _kind(parameter: click.Parameter) -> _Kind:
    """Return what a parameter takes, judged by its metavar. An argument takes a file by default."""
    shown = (parameter.metavar or parameter.name or "").upper()
    if shown.lstrip("[").startswith("GAME"):
        argument = isinstance(parameter, click.Argument)  # an option may have a default there
        return _Kind(lambda ctx, typed: [] if argument and ctx.params.get(parameter.name or "") else _games(typed))
    if shown.startswith("BOT"):
        return _Kind(lambda ctx, typed: _starting(BUILT_IN, typed) or _file(typed))
    if isinstance(parameter, click.Argument) and "://" not in shown:
        return _Kind(lambda ctx, typed: _file(typed))
    is_file = any(word in shown for word in _FILE_WORDS)
    return _Kind(lambda ctx, typed: _file(typed) if is_file else [])


def _games(typed: str) -> list[CompletionItem]:
    return _starting(sorted(point.name for point in entry_points(GAMES)), typed)


def _file(typed: str) -> list[CompletionItem]:
    return [CompletionItem(typed, type="file")]


def _starting(words: Sequence[str], typed: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(typed)]
