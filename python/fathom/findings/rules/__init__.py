"""The rules, one file each: a file in here with a ``RULE`` is a rule."""

from importlib import import_module
from pkgutil import iter_modules

from fathom.findings.finding import Rule

__all__ = ["collected"]


def collected() -> tuple[Rule, ...]:
    """Return the rules of all files, by their places."""
    found: list[Rule] = [
        import_module(f"{__name__}.{one.name}").RULE for one in iter_modules(__path__)
    ]
    return tuple(sorted(found, key=lambda rule: rule.place))
