"""The web: pages, an API and metrics of what is measured here, for people and programs.

Its libraries belong to the extra ``web``; nothing outside of this room imports them, and ``fathom``
imports this room when ``fathom serve`` is called.
"""

from fathom.web.accounts import ROLES, Accounts, Role
from fathom.web.settings import Settings, SettingsError, server_folder

__all__ = ["ROLES", "Accounts", "Role", "Settings", "SettingsError", "server_folder"]
