"""Bots for agents of other kinds: engines of UCI, language models. Their packages are extras, loaded when used."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ggp.engines.game import OptionError


def load(bot: str, module: str, package: str) -> ModuleType:
    """Import a module of an optional package. Raises OptionError, which says what to install, if it is missing."""
    if find_spec(module) is None:
        raise OptionError(f"{bot}: {module} is not installed: pip install {package}")
    return import_module(module)
