"""Runs, task instances, logs and results."""

from __future__ import annotations

from dagbook.api.handlers.base import Handler, endpoint
from dagbook.commands import trigger
from dagbook.queries import runs
from dagbook.services.loop import utc_now
from dagbook.spec.models import RETURN_VALUE
from dagbook.wire.rest import TriggerRequest

_INT = 2**31 - 1


class RunsHandler(Handler):
    @endpoint
    async def get(self, dag_id: str) -> None:
        limit = self.number("limit", 25, 1, 1000)
        self.say(await self.engine.call(lambda work, _: runs.newest(work, dag_id, limit or 25)))

    @endpoint
    async def post(self, dag_id: str) -> None:
        r = self.body(TriggerRequest)
        made = await self.engine.call(
            lambda work, cache: trigger.trigger(
                work, cache, dag_id, utc_now(), logical_date=r.logical_date, conf=r.conf, run_id=r.run_id, version=r.version
            )
        )
        self.say(await self.engine.call(lambda work, cache: runs.detail(work, cache, dag_id, made.run_id)), 201)


class RunHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str) -> None:
        self.say(await self.engine.call(lambda work, cache: runs.detail(work, cache, dag_id, run_id)))


class CancelHandler(Handler):
    @endpoint
    async def post(self, dag_id: str, run_id: str) -> None:
        who = self.author
        await self.engine.call(lambda work, _: trigger.cancel(work, dag_id, run_id, who))
        self.say(await self.engine.call(lambda work, cache: runs.detail(work, cache, dag_id, run_id)))


class InstancesHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str, task_id: str) -> None:
        offset, limit = self.number("offset", 0, 0, _INT) or 0, self.number("limit", 200, 1, 10_000) or 200
        self.say(await self.engine.call(lambda work, cache: runs.instances(work, cache, dag_id, run_id, task_id, offset, limit)))


class LogsHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str, task_id: str) -> None:
        index = self.number("map_index", -1, -1, _INT)
        offset, wanted = self.number("offset", 0, -(2**40), 2**40), self.number("try", None, 0, _INT)
        folder = self.engine.settings.logs_folder
        self.say(
            await self.engine.call(
                lambda work, cache: runs.log_chunk(
                    work, cache, folder, dag_id, run_id, task_id, -1 if index is None else index, wanted, offset or 0
                )
            )
        )


class XComHandler(Handler):
    @endpoint
    async def get(self, dag_id: str, run_id: str, task_id: str) -> None:
        index = self.number("map_index", -1, -1, _INT)
        key = self.get_query_argument("key", RETURN_VALUE).replace("\0", "")
        self.say(
            await self.engine.call(lambda work, cache: runs.xcom(work, cache, dag_id, run_id, task_id, -1 if index is None else index, key))
        )
