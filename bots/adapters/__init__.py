"""Bots for other kinds of players: UCI engines, language models and agents.

Their packages are extras, which are loaded when they are used.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ggp.engines.game import OptionError


def load(bot: str, module: str, package: str) -> ModuleType:
    """Import a module of an optional package.

    Raises:
        OptionError: It is not installed; the message says what to install.
    """
    if find_spec(module) is None:
        raise OptionError(f"{bot}: {module} is not installed: run pip install {package}")
    return import_module(module)
