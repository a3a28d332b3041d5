"""A store in a server, whose databases and roles are made by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from alembic import command
from fathom.store import NoStoreError, Store, StoreError
from fathom.store._database import Database
from fathom.store._migrate import alembic_config
from fathom.store._tables import REVISION
from fathom.store.where import store_url
from sqlalchemy.engine import make_url
from store_worker import RESULT

if TYPE_CHECKING:
    from conftest import Server


def statement(address: str, *words: str) -> None:
    """Run statements at a server, each on its own."""
    engine = sa.create_engine(store_url(address), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for one in words:
            connection.exec_driver_sql(one)
    engine.dispose()


def database_of(address: str, encoding: str) -> str:
    """Return the address of a new database beside another, of an encoding."""
    url = make_url(address)
    name = f"{url.database}_{encoding}".lower()
    made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
    statement(address, made)
    return url.set(database=name).render_as_string(hide_password=False)


def test_a_role_without_numbers_was_told_when_its_run_had_been_measured(server: Server) -> None:
    """PostgreSQL gives the right to insert, and that to take a number for it, apart."""
    address = server.new_database()
    url = make_url(address)
    role = f"numberless_{url.database}"
    Store(address).close()
    statement(
        address,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}",
    )
    theirs = url.set(username=role).render_as_string(hide_password=False)
    with Store(theirs) as store, pytest.raises(StoreError, match=r"lacks USAGE on .*_id_seq"):
        store.check_writable()
    statement(address, f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
    with Store(theirs) as store:
        store.check_writable()
        store.runs.save(RESULT, ["x.dat"])
    statement(address, f"REVOKE INSERT ON shared_texts FROM {role}")
    with Store(theirs) as store, pytest.raises(StoreError, match="lacks INSERT on shared_texts"):
        store.check_writable()
    statement(address, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_who_may_not_change_older_tables_was_told_to_make_the_store_writable(
    server: Server,
) -> None:
    """Whoever may save runs, and does not own the tables, cannot bring them up to date."""
    address = server.new_database()
    database = Database(store_url(address))
    with database.writing() as connection:
        command.upgrade(alembic_config(connection), "0004")
    database.close()
    url = make_url(address)
    role = f"reader_{url.database}"
    granted = f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}"
    statement(address, f"CREATE ROLE {role} LOGIN", granted)
    theirs = url.set(username=role).render_as_string(hide_password=False)
    with pytest.raises(StoreError, match=rf"version 0004.*needs {REVISION}.*may change them"):
        Store(theirs)
    Store(address).close()
    with Store(theirs) as store:
        assert store.runs.list() == []
    statement(address, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_lacks_letters_refused_a_run_at_its_end(
    server: Server, encoding: str
) -> None:
    """The driver made bytes of all texts of SQL_ASCII, which ended in words of Python."""
    address = database_of(server.new_database(), encoding)
    with pytest.raises(StoreError, match=rf"keeps texts as {encoding}.*createdb -E UTF8"):
        Store(address)
    with pytest.raises(NoStoreError):
        Store(address, make=False)


def test_texts_come_back_whatever_encoding_the_environment_asks_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with Store(server.new_database()) as store:
        saved = store.runs.save(RESULT, ["x.dat"], label="日本→é")
        assert store.runs.get(saved).summary.label == "日本→é"
