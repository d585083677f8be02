"""The scheduler: claims what is due, decides it, queues what is ready, hands it to the executor."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import datetime

import structlog

from dagbook.artifacts import logs
from dagbook.decide.admit import admit
from dagbook.decide.calendar import next_interval
from dagbook.decide.run import decide_run
from dagbook.errors import DatabaseUnavailable
from dagbook.executors.protocol import Executor
from dagbook.services.loop import Backoff, Clock, utc_now
from dagbook.settings import Settings
from dagbook.spec.models import DagSpec
from dagbook.states import RunState, RunType
from dagbook.store import apply, due, jobs, queueing, runs, snapshots, versions
from dagbook.store.notify import Listener
from dagbook.store.queueing import DueDag, Queued
from dagbook.store.runs import NewRun
from dagbook.store.versions import Versions
from dagbook.store.work import Store, Work
from dagbook.wire.tasks import TryKey, Workload

log = structlog.get_logger(__name__)
#: Runs judged in one transaction, DAGs given their next run in one.
_RUNS_AT_ONCE, _DAGS_AT_ONCE = 100, 50
_BREATH = 0.01


class Scheduler:
    """One loop; several may run against one database at once."""

    def __init__(self, store: Store, cache: Versions, executor: Executor, settings: Settings, listener: Listener,
                 clock: Clock = utc_now):
        self._store, self._versions, self._executor, self._settings = store, cache, executor, settings
        self._listener, self._clock = listener, clock
        self._job = 0
        self._next_beat = 0.0

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set and the listener nudged; what runs then is given up and runs again."""
        backoff = Backoff()
        self._executor.start()
        try:
            while not stop.is_set():
                try:
                    if not self._turn():
                        self._listener.wait(self._patience())
                    if self._executor.free() <= 0:
                        # Nothing can start before something ends: a moment's wait makes one round of many small ones.
                        stop.wait(_BREATH)
                    backoff.reset()
                except DatabaseUnavailable as e:
                    pause = backoff.pause()
                    log.warning("waiting for the database", error=str(e), pause=pause)
                    stop.wait(pause)
        finally:
            self._executor.end()
            self._leave()

    def _turn(self) -> bool:
        if self._job == 0:
            self._register()
        if time.monotonic() >= self._next_beat:
            self.heartbeat()
        return self.tick()

    def _register(self) -> None:
        self._listener.wait(0)  # listening before the first look, so that nothing falls between
        with self._store.begin() as work:
            self._job = jobs.register(work, "scheduler")

    def _leave(self) -> None:
        try:
            with self._store.begin() as work:
                jobs.end(work, self._job)
        except DatabaseUnavailable as e:
            log.warning("left without saying so; the work is adopted later", error=str(e))

    def _patience(self) -> float:
        """Seconds until the heartbeat, or until time alone makes something due."""
        until_beat = max(self._next_beat - time.monotonic(), 0)
        with self._store.begin() as work:
            at = due.next_at(work)
        return until_beat if at is None else min(until_beat, max((at - self._clock()).total_seconds(), 0.01))

    # The heartbeat: the safety net -----------------------------------------------------------

    def heartbeat(self) -> None:
        """Say that this scheduler lives, adopt the work of dead ones, look at every running run again."""
        self._next_beat = time.monotonic() + self._settings.heartbeat
        running = self._executor.in_flight()
        with self._store.begin() as work:
            alive = jobs.beat(work, self._job)
            if alive:
                jobs.bury(work, self._settings.heartbeat_timeout)
                due.sweep(work)
                stale = jobs.stale(work, self._job, running)
                queueing.say(work, queueing.waiting_elsewhere(work))
                jobs.forget_old(work)
        if not alive:
            log.error("this scheduler was declared dead while it lived; starting over", job=self._job)
            self._executor.terminate(running, "its scheduler was declared dead")
            self._register()
        elif stale:
            self._executor.terminate(stale, "the try is no longer wanted")

    # The tick --------------------------------------------------------------------------------

    def tick(self) -> bool:
        """One round of everything; true when there is more to do at once."""
        started = self._start_runs()
        with self._store.begin() as work:
            judged, over = self._decide(work)
            queued, more = self._queue(work)
            workloads = self._workloads(work, queued)
        if workloads:
            # After the commit; the try is pinned in each, so handing one over twice is harmless.
            self._executor.submit(workloads)
        if over:
            self._stop_runs(over)
        return started or judged or more

    def _start_runs(self) -> bool:
        with self._store.begin() as work:
            if not queueing.anything_to_start(work):
                return False
            due.one_at_a_time(work)
            now = self._clock()
            for dag in queueing.due_dags(work, _DAGS_AT_ONCE):
                self._schedule(work, dag, now)
            return bool(runs.start_waiting(work, self._versions, self._settings.max_map_length))

    def _schedule(self, work: Work, dag: DueDag, now: datetime) -> None:
        """Make the runs that are due, as many as may be unfinished at once, and set when the next one is."""
        spec = self._versions.spec(work, dag.version)
        last = versions.last_interval(work, dag.dag_id)
        new: list[NewRun] = []
        try:
            interval = next_interval(spec, last, now)
            while interval and interval.end <= now and len(new) < dag.max_active_runs - dag.unfinished:
                run_id = f"scheduled__{interval.start.isoformat()}"
                new.append(NewRun(dag.dag_id, run_id, dag.version, RunType.SCHEDULED, interval.start, interval))
                interval = next_interval(spec, interval, now)
            versions.set_next(work, dag.dag_id, interval)
        except ValueError as e:
            log.error("schedule can't be followed", dag_id=dag.dag_id, error=str(e))
            versions.set_next(work, dag.dag_id, None, str(e))
        runs.insert(work, new)

    def _decide(self, work: Work) -> tuple[bool, list[int]]:
        """(whether any run was judged, the due runs that are over already)."""
        claimed = due.claim(work, _RUNS_AT_ONCE)
        going = [r for r in claimed if r.state == RunState.RUNNING]
        if going:
            now = self._clock()
            specs = self._versions.specs(work, [r.version for r in going])
            views = snapshots.take(work, going, specs, now)
            decisions = [(v.run, decide_run(v, now, self._settings.max_map_length)) for v in views]
            apply.moves(work, [m for _, d in decisions for m in d.moves])
            apply.expansions(work, [e for _, d in decisions for e in d.expansions])
            for run, decision in decisions:
                if decision.outcome is not None:
                    runs.finish(work, run, decision.outcome, decision.reason)
                elif decision.moves or decision.expansions:
                    work.run_changed(run)
        return bool(going), [r.id for r in claimed if r.state in (RunState.FAILED, RunState.SUCCESS)]

    def _queue(self, work: Work) -> tuple[list[Queued], bool]:
        """Give free slots away; true beside them when a further look may find more."""
        room = self._executor.free()
        if room <= 0 or not queueing.anything_scheduled(work):
            return [], False
        due.one_at_a_time(work)
        free = queueing.capacity(work, room)
        look_ahead = max(4 * room, 64)
        candidates = queueing.candidates(work, free, look_ahead)
        admission = admit(candidates, free)
        queueing.say(work, admission.impossible)
        queued = queueing.queue(work, admission.admitted, self._job)
        return queued, bool(queued) and len(candidates) >= look_ahead and len(queued) < room

    def _workloads(self, work: Work, queued: list[Queued]) -> list[Workload]:
        specs = self._versions.specs(work, [q.version for q in queued])
        return [_workload(q, specs) for q in queued]

    def _stop_runs(self, over: list[int]) -> None:
        """A run that was cancelled may still have processes here."""
        gone = set(over)
        keys: list[TryKey] = [k for k in self._executor.in_flight() if k.run in gone]
        if keys:
            self._executor.terminate(keys, "the run was cancelled")


def _workload(q: Queued, specs: Mapping[str, DagSpec]) -> Workload:
    timeout = specs[q.version].task(q.task_id).execution_timeout
    return Workload(
        key=TryKey(q.run, q.task_id, q.map_index, q.try_number), dag_id=q.dag_id, run_id=q.run_id, version=q.version,
        queue=q.queue, log_path=logs.relative_path(q.dag_id, q.run_id, q.task_id, q.map_index, q.try_number),
        timeout=timeout.total_seconds() if timeout else None,
    )
