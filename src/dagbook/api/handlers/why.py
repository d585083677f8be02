"""Why something doesn't go on."""

from __future__ import annotations

from dagbook.api.handlers.base import Handler, endpoint
from dagbook.queries import why

_INT = 2**31 - 1


class DagWhyHandler(Handler):
    @endpoint
    async def get(self, dag_id: str) -> None:
        settings = self.engine.settings
        self.say(await self.engine.call(lambda work, cache: why.dag(work, cache, settings, dag_id)))


class RunWhyHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str) -> None:
        settings = self.engine.settings
        self.say(await self.engine.call(lambda work, cache: why.run(work, cache, settings, dag_id, run_id)))


class TaskWhyHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str, task_id: str) -> None:
        settings, index = self.engine.settings, self.number("map_index", -1, -1, _INT)
        wanted = -1 if index is None else index
        self.say(await self.engine.call(lambda work, cache: why.task(work, cache, settings, dag_id, run_id, task_id, wanted)))
