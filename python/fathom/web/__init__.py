"""The web: pages, an API and metrics of what is measured here, for people and programs.

Its libraries belong to the extra ``web``; nothing outside of this room imports them, and ``fathom``
imports this room when ``fathom serve`` is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.web.accounts import ROLES, Accounts, Role
    from fathom.web.server import serve
    from fathom.web.settings import Settings, SettingsError, server_folder

__all__ = [
    "ROLES",
    "Accounts",
    "Role",
    "Settings",
    "SettingsError",
    "serve",
    "server_folder",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
