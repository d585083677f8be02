"""Composition root inside a Jupyter server."""

from __future__ import annotations

from typing import ClassVar

from jupyter_server.extension.application import ExtensionApp

from dagbook import settings
from dagbook.api.engine import Engine
from dagbook.api.hub import Hub
from dagbook.api.routes import routes
from dagbook.services.supervisor import Supervisor


class DagbookApp(ExtensionApp):
    """REST, events, and the way to the database."""

    name = "dagbook"
    load_other_extensions = True

    def initialize_settings(self) -> None:
        self._engine = Engine(settings.read())
        self._hub = Hub(self._engine)
        self.settings["dagbook_engine"] = self._engine
        self.settings["dagbook_hub"] = self._hub
        self._engine.open_soon()

    def initialize_handlers(self) -> None:
        self.handlers.extend(routes())

    async def stop_extension(self) -> None:
        self._hub.close()
        await self._engine.close()


class _SupervisingApp(ExtensionApp):
    """Starts one component with the server and stops it with it."""

    kind: ClassVar[str]

    def initialize_settings(self) -> None:
        self._supervisor = Supervisor(self.kind, settings.read().logs_folder)
        self.settings[f"dagbook_{self.kind}"] = self._supervisor
        self._supervisor.start()

    async def stop_extension(self) -> None:
        self._supervisor.stop()


class SchedulerApp(_SupervisingApp):
    name = "dagbook_scheduler"
    kind = "scheduler"


class TriggererApp(_SupervisingApp):
    name = "dagbook_triggerer"
    kind = "triggerer"
