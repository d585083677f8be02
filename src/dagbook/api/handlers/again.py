"""Work that is done again, or for the past: clear and backfills."""

from __future__ import annotations

from dagbook.api.handlers.base import Handler, endpoint
from dagbook.commands import backfill, clear
from dagbook.queries import backfills
from dagbook.wire.rest import BackfillChange, BackfillRequest, ClearRequest


class ClearHandler(Handler):
    @endpoint
    async def post(self, dag_id: str) -> None:
        request, limit = self.body(ClearRequest), self.engine.settings.max_map_length
        self.say(await self.engine.call(lambda work, cache: clear.clear(work, cache, dag_id, request, limit)))


class BackfillsHandler(Handler):
    @endpoint
    async def get(self, dag_id: str) -> None:
        self.say(await self.engine.call(lambda work, _: backfills.of_dag(work, dag_id)))

    @endpoint
    async def post(self, dag_id: str) -> None:
        request = self.body(BackfillRequest)
        made = await self.engine.call(lambda work, cache: backfill.create(work, cache, dag_id, request))
        self.say(await self.engine.call(lambda work, _: backfills.one(work, dag_id, made)), 201)


class BackfillPreviewHandler(Handler):
    @endpoint
    async def post(self, dag_id: str) -> None:
        request = self.body(BackfillRequest)
        steps = await self.engine.call(lambda work, cache: backfill.preview(work, cache, dag_id, request))
        self.say(backfills.planned(steps, request.max_active_runs))


class BackfillHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, number: str) -> None:
        self.say(await self.engine.call(lambda work, _: backfills.one(work, dag_id, int(number))))

    @endpoint
    async def patch(self, dag_id: str, number: str) -> None:
        wanted, who, made = self.body(BackfillChange).state, self.author, int(number)
        if wanted == "cancelled":
            await self.engine.call(lambda work, _: backfill.cancel(work, dag_id, made, who))
        else:
            await self.engine.call(lambda work, _: backfill.pause(work, dag_id, made, wanted == "paused"))
        self.say(await self.engine.call(lambda work, _: backfills.one(work, dag_id, made)))
