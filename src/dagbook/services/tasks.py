"""The engine's side of the task execution protocol: what a task says is checked, decided on, and written."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from dagbook.decide.finish import on_failure
from dagbook.errors import Invalid
from dagbook.services.loop import Clock, utc_now
from dagbook.spec.models import ALIAS, DagSource, TaskSpec
from dagbook.states import TaskState
from dagbook.store import callbacks, datasets, past, reports, runs, secrets, triggers
from dagbook.store.datasets import NewEvent
from dagbook.store.reports import Ending
from dagbook.store.versions import Versions, source_of
from dagbook.store.work import Store, Work
from dagbook.wire.tasks import (
    Claim,
    Claimed,
    ConnectionGet,
    ConnectionValue,
    DatasetNews,
    Deferred,
    Done,
    Failed,
    Heartbeat,
    Indexes,
    PreviousSuccessGet,
    Refused,
    Reply,
    Request,
    Rescheduled,
    Skipped,
    Succeeded,
    TriggeringEvents,
    TriggeringEventsGet,
    TryKey,
    Values,
    VariableGet,
    VariableValue,
    XComGet,
    XComIndexes,
    XComSet,
)

_STALE = Refused("this try is not the current one any more; it was cancelled, or is lost and runs again")
Batch = Sequence[tuple[TryKey, Request]]


class Tasks:
    """``TaskService`` over the store; its methods may be called from any thread."""

    def __init__(self, store: Store, versions: Versions, clock: Clock = utc_now, draw: Callable[[], float] = random.random):
        self._store, self._versions, self._clock, self._draw = store, versions, clock, draw

    def handle(self, batch: Batch) -> list[Reply]:
        try:
            with self._store.begin() as work:
                return self._answer(work, batch)
        except Invalid as e:
            if len(batch) > 1:
                return [self.handle([one])[0] for one in batch]
            key, request = batch[0]
            if isinstance(request, Failed):
                raise
            return self.handle([(key, Failed(str(e), retryable=False))])

    def _answer(self, work: Work, batch: Batch) -> list[Reply]:
        tries = [(k, r) for k, r in batch if k.try_number >= 0]
        granted = reports.claim(work, [(k, r) for k, r in tries if isinstance(r, Claim)])
        ended = self._end(work, [(k, r) for k, r in tries if isinstance(r, Succeeded | Failed | Skipped)])
        replies: list[Reply] = []
        for key, request in batch:
            match request:
                case Claim() | Succeeded() | Failed() | Skipped() | Rescheduled() | Deferred() if key.try_number < 0:
                    replies.append(_callback(work, key, request))
                case Claim():
                    g = granted.get(key)
                    replies.append(Claimed(g.context, g.method, g.event, g.started_at) if g else _STALE)
                case Succeeded() | Failed() | Skipped():
                    replies.append(Done() if key in ended else _STALE)
                case _:
                    replies.append(self._one(work, key, request))
        return replies

    def _one(self, work: Work, key: TryKey, request: Request) -> Reply:
        match request:
            case XComGet(task_id, name, map_indexes):
                return Values(reports.values(work, key.run, task_id, name, map_indexes))
            case XComIndexes(task_id, name):
                return Indexes(reports.indexes(work, key.run, task_id, name))
            case XComSet(name, value):
                if not reports.is_current(work, key):
                    return _STALE
                reports.put_values(work, [(key, name, value)])
                return Done()
            case Deferred():
                return Done() if triggers.defer(work, key, request) else _STALE
            case Rescheduled(at):
                return Done() if reports.reschedule(work, key, at) else _STALE
            case VariableGet(name):
                return VariableValue(secrets.variable(work, name))
            case ConnectionGet(conn_id):
                return secrets.connection(work, conn_id) or ConnectionValue()
            case PreviousSuccessGet():
                return runs.previous_success(work, key.run)
            case TriggeringEventsGet():
                return TriggeringEvents(datasets.of_run(work, key.run))
            case Heartbeat():
                return Done() if reports.is_current(work, key) else _STALE
            case _:
                raise AssertionError(f"no answer to {request!r}")

    def _end(self, work: Work, finals: Sequence[tuple[TryKey, Succeeded | Failed | Skipped]]) -> set[TryKey]:
        """Write how tries ended; the datasets they fill get their events in the same transaction."""
        if not finals:
            return set()
        facts = reports.facts(work, [k for k, _ in finals])
        specs = self._versions.specs(work, [f.version for f in facts.values()])
        # A task that its run's version doesn't have any more is nobody's: its report is stale.
        facts = {k: f for k, f in facts.items() if k.task_id in specs[f.version].task_ids}
        tasks = {key: specs[f.version].task(key.task_id) for key, f in facts.items()}
        endings = [self._ending(key, r, tasks[key], facts[key].max_tries) for key, r in finals if key in facts]
        ended = reports.end(work, endings)
        succeeded = [(k, r) for k, r in finals if isinstance(r, Succeeded) and k in ended]
        datasets.put(work, [event for key, r in succeeded for event in _events(key, tasks[key], r.news)])
        past.wake_next(work, sorted({k.run for k in ended if any(t.depends_on_past for t in specs[facts[k].version].tasks)}))
        reports.stopped(work, [k for k, _ in finals if k not in ended])
        return ended

    def _ending(self, key: TryKey, request: Succeeded | Failed | Skipped, task: TaskSpec, max_tries: int) -> Ending:
        match request:
            case Succeeded(result, label, untaken):
                return Ending(key, TaskState.SUCCESS, result=result, label=label, untaken=untaken)
            case Skipped(reason):
                return Ending(key, TaskState.SKIPPED, reason)
            case Failed(reason, retryable):
                to, when = on_failure(task.retry, key.try_number, max_tries, self._clock(), retryable=retryable, jitter=self._draw())
                return Ending(key, to, reason, when)

    def lost(self, key: TryKey, reason: str) -> None:
        with self._store.begin() as work:
            if key.try_number < 0:
                callbacks.lost(work, [-key.try_number])
            else:
                reports.unqueue(work, key)

    def refused(self, key: TryKey, reason: str) -> None:
        with self._store.begin() as work:
            if key.try_number < 0:
                callbacks.end(work, key, reason)
            else:
                reports.refuse(work, key, reason)

    def source(self, version: str) -> DagSource:
        with self._store.begin() as work:
            return source_of(work, version)


def _callback(work: Work, key: TryKey, request: Request) -> Reply:
    """A process that makes a call, not a try."""
    if isinstance(request, Claim):
        claimed = callbacks.claim(work, key)
        return Claimed(claimed[0], callback=claimed[1]) if claimed else _STALE
    error = None if isinstance(request, Succeeded) else getattr(request, "reason", "it can't wait")
    return Done() if callbacks.end(work, key, error) else _STALE


def _events(key: TryKey, task: TaskSpec, news: Sequence[DatasetNews]) -> list[NewEvent]:
    """One for each outlet, with what the task said of it; and those that it added to an alias."""
    said = {n.uri: n.extra for n in news if n.alias is None}
    own = [(uri, said.get(uri, {}), None) for uri in task.outlets if not uri.startswith(ALIAS)]
    added = [(n.uri, n.extra, n.alias) for n in news if n.alias is not None and ALIAS + n.alias in task.outlets]
    return [NewEvent(uri, extra, alias, key.run, key.task_id, key.map_index) for uri, extra, alias in (*own, *added)]
