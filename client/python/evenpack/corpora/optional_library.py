"""Libraries that only some corpora need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from evenpack.errors import InvalidArgumentError


def optional_library(module: str, package: str, needed_for: str) -> ModuleType:
    """The module.

    Args:
        module: as `import` has it.
        package: as `pip install` has it.
        needed_for: what the user asked for.

    Raises:
        InvalidArgumentError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise InvalidArgumentError(
            f"{needed_for}: {package} is not installed ({error}); accepted: an "
            f"environment with it, as pip install {package} makes it"
        ) from error
