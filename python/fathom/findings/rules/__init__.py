"""The rules: a file in here has a ``RULE``, or several that are alike as ``RULES``."""

from importlib import import_module
from pkgutil import iter_modules

from fathom.findings.finding import Rule

__all__ = ["collected"]


def collected() -> tuple[Rule, ...]:
    """Return the rules of all files, by their places."""
    files = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    found: list[Rule] = []
    for one in files:
        found += getattr(one, "RULES", None) or [one.RULE]
    return tuple(sorted(found, key=lambda rule: rule.place))
