"""Datasets, and news of them from outside."""

from __future__ import annotations

from dagbook.api.handlers.base import Handler, endpoint
from dagbook.commands import datasets as commands
from dagbook.queries import datasets
from dagbook.wire.rest import DatasetEventRequest


class DatasetsHandler(Handler):
    @endpoint
    async def get(self) -> None:
        self.say(await self.engine.call(lambda work, _: datasets.listing(work)))


class DatasetEventsHandler(Handler):
    @endpoint
    async def get(self) -> None:
        limit = self.number("limit", 25, 1, 1000) or 25
        uri = self.get_query_argument("uri", "").replace("\0", "") or None
        self.say(await self.engine.call(lambda work, _: datasets.events(work, uri, limit)))

    @endpoint
    async def post(self) -> None:
        request = self.body(DatasetEventRequest)
        made = await self.engine.call(lambda work, _: commands.post_event(work, request.uri, request.extra))
        found = await self.engine.call(lambda work, _: datasets.events(work, request.uri, 1000))
        self.say(next(e for e in found if e.id == made), 201)
