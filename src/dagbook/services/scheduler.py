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
from dagbook.decide.datasets import satisfied
from dagbook.decide.run import RunDecision, decide_run
from dagbook.decide.snapshot import RunView
from dagbook.errors import DatabaseUnavailable
from dagbook.executors.protocol import Executor
from dagbook.services.loop import Backoff, Clock, utc_now
from dagbook.settings import Settings
from dagbook.spec.models import DagSpec, DataInterval
from dagbook.states import RunState, RunType
from dagbook.store import apply, callbacks, datasets, due, jobs, past, queueing, runs, scheduling, snapshots, timetables, versions
from dagbook.store.callbacks import Call
from dagbook.store.due import DueRun
from dagbook.store.notify import Listener
from dagbook.store.queueing import Queued
from dagbook.store.runs import NewRun
from dagbook.store.scheduling import DueDag
from dagbook.store.versions import Versions
from dagbook.store.work import Store, Work
from dagbook.wire.tasks import TryKey, Workload

log = structlog.get_logger(__name__)
#: Runs judged in one transaction, DAGs given their next run in one.
_RUNS_AT_ONCE, _DAGS_AT_ONCE = 100, 50
_BREATH = 0.01
#: Seconds that a callback may take.
_LONGEST_CALL = 600.0


class Scheduler:
    """One loop; several may run against one database at once."""

    def __init__(self, store: Store, cache: Versions, executor: Executor, settings: Settings, listener: Listener, clock: Clock = utc_now):
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
            workloads = self._workloads(work, queued) + self._calls(work, len(queued))
        if workloads:
            # After the commit; the try is pinned in each, so handing one over twice is harmless.
            self._executor.submit(workloads)
        if over:
            self._stop_runs(over)
        return started or judged or more

    def _start_runs(self) -> bool:
        with self._store.begin() as work:
            if not scheduling.anything_to_start(work):
                return False
            due.one_at_a_time(work)
            now = self._clock()
            for dag in scheduling.due_dags(work, _DAGS_AT_ONCE):
                self._schedule(work, dag, now)
            self._start_by_datasets(work)
            return bool(runs.start_waiting(work, self._versions, self._settings.max_map_length))

    def _schedule(self, work: Work, dag: DueDag, now: datetime) -> None:
        """Make the runs that are due, as many as may be unfinished at once, and set when the next one is."""
        spec = self._versions.spec(work, dag.version)
        last = versions.last_interval(work, dag.dag_id)
        told = timetables.told(work, dag.dag_id) if spec.has_own_timetable else None
        new: list[NewRun] = []
        try:
            interval = next_interval(spec, last, now, told)
            while interval and interval.due <= now and len(new) < dag.max_active_runs - dag.unfinished:
                run_id = f"scheduled__{interval.start.isoformat()}"
                new.append(NewRun(dag.dag_id, run_id, dag.version, RunType.SCHEDULED, interval.start, interval))
                last, interval = interval, next_interval(spec, interval, now, told)
            versions.set_next(work, dag.dag_id, interval)
            if told and told.is_short(last, now):
                timetables.want(work, dag.dag_id, now)
        except ValueError as e:
            log.error("schedule can't be followed", dag_id=dag.dag_id, error=str(e))
            versions.set_next(work, dag.dag_id, None, str(e))
        runs.insert(work, new)

    def _start_by_datasets(self, work: Work) -> None:
        """A run for each DAG whose datasets have all the news that it asks for; it gets all that is unused."""
        for waiting in datasets.waiting(work, _DAGS_AT_ONCE):
            spec = self._versions.spec(work, waiting.version)
            if spec.datasets is None or not satisfied(spec.datasets, waiting.names):
                continue
            run_id = f"dataset__{self._clock().isoformat()}"
            interval = DataInterval(waiting.first, waiting.last)
            new = NewRun(waiting.dag_id, run_id, waiting.version, RunType.DATASET, waiting.last, interval)
            for made in runs.insert(work, [new], {}, {p.name: p.default for p in spec.params}):
                datasets.use(work, waiting.dag_id, made)

    def _decide(self, work: Work) -> tuple[bool, list[int]]:
        """(whether any run was judged, the due runs that are over already)."""
        claimed = due.claim(work, _RUNS_AT_ONCE)
        going = [r for r in claimed if r.state == RunState.RUNNING]
        if going:
            now = self._clock()
            specs = self._versions.specs(work, [r.version for r in going])
            views = snapshots.take(work, going, specs, now)
            decisions = {v.run: d for v in views if (d := self._judge(work, v, now))}
            going = [r for r in going if r.id in decisions]
            apply.expansions(work, [e for d in decisions.values() for e in d.expansions])
            apply.moves(work, [m for d in decisions.values() for m in d.moves])
            for run in going:
                self._conclude(work, run, specs[run.version], decisions[run.id])
        return bool(going), [r.id for r in claimed if r.state != RunState.RUNNING] + [
            r.id for r in going if decisions[r.id].timed_out or r.restarting
        ]

    def _judge(self, work: Work, view: RunView, now: datetime) -> RunDecision | None:
        """``None``: a run that can't be judged waits for the next heartbeat and says why; the others go on."""
        try:
            return decide_run(view, now, self._settings.max_map_length)
        except Exception as e:
            log.exception("run can't be judged", run=view.run)
            runs.say(work, view.run, f"the scheduler can't judge it, and tries again: {type(e).__name__}: {e}")
            return None

    def _conclude(self, work: Work, run: DueRun, spec: DagSpec, decision: RunDecision) -> None:
        """What a decision says of the run itself: its end, its deadlines, and who hears of them."""
        if decision.missed or decision.stalled != run.is_stalled:
            runs.mark(work, run.id, missed=decision.missed, stalled=decision.stalled)
        for name in decision.missed:
            deadline = spec.task(name).deadline if name else spec.deadline
            if deadline is not None and deadline.callback:
                callbacks.owe(work, run.id, "deadline", "its deadline has passed", name)
        if decision.timed_out:
            runs.stop(work, run.id, decision.reason or "")
        elif decision.outcome is not None:
            runs.finish(work, run.id, decision.outcome, decision.reason)
        elif decision.moves or decision.expansions:
            work.run_changed(run.id)
        if decision.outcome is not None:
            kind = "success" if decision.outcome is RunState.SUCCESS else "failure"
            if kind in spec.callbacks:
                callbacks.owe(work, run.id, kind, decision.reason)
        if (decision.moves or decision.outcome) and any(t.depends_on_past for t in spec.tasks):
            past.wake_next(work, [run.id])

    def _queue(self, work: Work) -> tuple[list[Queued], bool]:
        """Give free slots away; true beside them when a further look may find more."""
        room = self._executor.free()
        if room <= 0 or not queueing.anything_scheduled(work):
            return [], False
        due.one_at_a_time(work)
        free, full = queueing.capacity(work, room)
        look_ahead = max(4 * room, 64)
        candidates = queueing.candidates(work, free, full, look_ahead)
        admission = admit(candidates, free)
        queueing.say(work, admission.impossible)
        queued = queueing.queue(work, admission.admitted, self._job)
        return queued, bool(queued) and len(candidates) >= look_ahead and len(queued) < room

    def _workloads(self, work: Work, queued: list[Queued]) -> list[Workload]:
        specs = self._versions.specs(work, [q.version for q in queued])
        return [_workload(q, specs) for q in queued]

    def _calls(self, work: Work, taken: int) -> list[Workload]:
        """Callbacks that are owed, as far as the executor has places left."""
        room = self._executor.free() - taken
        return [_call(c) for c in callbacks.queue(work, room, self._job)] if room > 0 and callbacks.anything_owed(work) else []

    def _stop_runs(self, over: list[int]) -> None:
        """A run that was cancelled, or cleared in part, may still have processes here that nobody wants."""
        gone = set(over)
        keys: list[TryKey] = [k for k in self._executor.in_flight() if k.run in gone]
        if keys:
            with self._store.begin() as work:
                unwanted = jobs.stale(work, self._job, keys)
            self._executor.terminate(unwanted, "the run was stopped, or the task cleared")


def _workload(q: Queued, specs: Mapping[str, DagSpec]) -> Workload:
    timeout = specs[q.version].task(q.task_id).execution_timeout
    return Workload(
        key=TryKey(q.run, q.task_id, q.map_index, q.try_number),
        dag_id=q.dag_id,
        run_id=q.run_id,
        version=q.version,
        queue=q.queue,
        log_path=logs.relative_path(q.dag_id, q.run_id, q.task_id, q.map_index, q.try_number),
        timeout=timeout.total_seconds() if timeout else None,
    )


def _call(c: Call) -> Workload:
    path = logs.relative_path(c.dag_id, c.run_id, c.task_id or "dag", c.map_index, 0).removesuffix("0.log")
    return Workload(
        key=c.key,
        dag_id=c.dag_id,
        run_id=c.run_id,
        version=c.version,
        queue="default",
        log_path=f"{path}callback-{c.kind}-{c.id}.log",
        timeout=_LONGEST_CALL,
    )
