"""From settings to a database that is ready for use."""

from __future__ import annotations

from dataclasses import dataclass

from dagbook.errors import DatabaseUnavailable
from dagbook.settings import Settings
from dagbook.store import migrate
from dagbook.store.embedded import EmbeddedDatabase, open_embedded
from dagbook.store.notify import Listener
from dagbook.store.versions import Versions
from dagbook.store.work import Store


@dataclass
class Opened:
    """``embedded`` is held as long as this is: its lease keeps the server running."""

    store: Store
    versions: Versions
    embedded: EmbeddedDatabase | None

    def listener(self, channel: str) -> Listener:
        return Listener(self.store.url, channel)

    def close(self) -> None:
        self.store.close()
        if self.embedded is not None:
            self.embedded.close()


def database_url(settings: Settings) -> tuple[str, EmbeddedDatabase | None]:
    if settings.database_url:
        return settings.database_url, None
    embedded = open_embedded(settings.home)
    return embedded.url, embedded


def open_store(settings: Settings) -> Opened:
    """The embedded database is brought up to date by itself; a server of yours by ``dagbook db upgrade`` only."""
    url, embedded = database_url(settings)
    if wrong := migrate.missing(url):
        if embedded is None:
            raise DatabaseUnavailable(f"the database at DAGBOOK_DATABASE_URL isn't ready: {wrong}; run: dagbook db upgrade")
        migrate.upgrade(url)
    return Opened(Store(url), Versions(), embedded)
