"""Tasks as local processes, forked from warm servers; one thread serves all their channels.

Reports that arrive together are written together: one transaction for whatever one turn of the loop heard.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from dagbook.errors import DagbookError, DatabaseUnavailable
from dagbook.executors import warm
from dagbook.executors.protocol import TaskService
from dagbook.executors.warm import WarmServer
from dagbook.wire.tasks import (
    Claimed,
    Deferred,
    Exited,
    Failed,
    Forked,
    Loaded,
    Refused,
    Request,
    Rescheduled,
    Skipped,
    Succeeded,
    TryKey,
    Workload,
    encode,
    request_decoder,
)
from dagbook.worker import frames

log = structlog.get_logger(__name__)
_FINAL = (Succeeded, Failed, Skipped, Deferred, Rescheduled)
_T = TypeVar("_T")
_KILL_GRACE = 5.0


@dataclass(eq=False)
class Task:
    """One try in flight.  ``reported``: its last word was taken; ``pid`` once forked; times are monotonic."""

    workload: Workload
    sock: socket.socket
    server: WarmServer
    buffer: frames.FrameBuffer = field(default_factory=frames.FrameBuffer)
    pid: int = 0
    claimed: bool = False
    reported: bool = False
    exit_status: int | None = None
    open: bool = True
    deadline: float | None = None
    kill_at: float | None = None
    stop_reason: str | None = None


class LocalExecutor:
    """``slots`` tries at once, as many more waiting here so that a free place is filled without asking the scheduler.

    At most ``warm_servers`` idle servers are kept.
    """

    def __init__(
        self, service: TaskService, logs_folder: Path, slots: int, warm_servers: int, on_reports: Callable[[], None] = lambda: None
    ):
        self._service, self._logs, self._slots, self._keep = service, logs_folder, slots, warm_servers
        self._on_reports = on_reports
        self._orders: deque[Callable[[], None]] = deque()
        self._wake_in, self._wake_out = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._tasks: dict[TryKey, Task] = {}
        self._backlog: deque[Workload] = deque()
        self._servers: dict[str, WarmServer] = {}
        self._all: set[WarmServer] = set()
        self._threaded: set[str] = set()
        self._in_flight = 0
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="local-executor", daemon=True)

    # The scheduler's side --------------------------------------------------------------------

    def start(self) -> None:
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._selector.register(self._wake_out, selectors.EVENT_READ, None)
        self._thread.start()

    def free(self) -> int:
        return 2 * self._slots - self._in_flight

    def in_flight(self) -> list[TryKey]:
        return [*list(self._tasks), *(w.key for w in list(self._backlog))]

    def submit(self, workloads: Sequence[Workload]) -> None:
        self._in_flight += len(workloads)
        for w in workloads:
            self._order(lambda w=w: self._begin(w))  # type: ignore[misc]

    def terminate(self, keys: Sequence[TryKey], reason: str) -> None:
        for key in keys:
            self._order(lambda key=key: self._stop(key, reason))  # type: ignore[misc]

    def end(self) -> None:
        """Kill what runs and leave; the scheduler's recovery takes the tries up again."""
        self._ending = True
        self._order(lambda: None)
        self._thread.join(10)

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        with contextlib.suppress(BlockingIOError):
            self._wake_in.send(b"x")

    # The loop --------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending:
            heard: list[tuple[Task, Request]] = []
            for ready, _ in self._selector.select(self._patience()):
                owner = ready.data
                if owner is None:
                    self._take_orders()
                elif isinstance(owner, Task):
                    heard += self._hear(owner)
                else:
                    self._hear_server(owner)
            self._answer(heard)
            self._enforce_deadlines()
            while self._backlog and len(self._tasks) < self._slots:
                self._begin(self._backlog.popleft())
        for server in list(self._all):
            self._drop(server)

    def _patience(self) -> float | None:
        times = [t for task in self._tasks.values() for t in (task.deadline, task.kill_at) if t is not None]
        return max(min(times) - time.monotonic(), 0) if times else None

    def _take_orders(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_out.recv(4096)
        while self._orders:
            self._orders.popleft()()

    def _begin(self, workload: Workload) -> None:
        if workload.key in self._tasks:
            self._in_flight -= 1
            return
        if len(self._tasks) >= self._slots:
            self._backlog.append(workload)
            return
        try:
            server = self._server_for(workload)
        except DatabaseUnavailable as e:
            reason = str(e)
            self._in_flight -= 1
            self._patiently(lambda: self._service.lost(workload.key, reason))
            return
        except (DagbookError, OSError) as e:
            reason = str(e)
            self._in_flight -= 1
            self._patiently(lambda: self._service.refused(workload.key, reason))
            return
        ours, theirs = socket.socketpair()
        ours.settimeout(30)
        task = self._tasks[workload.key] = Task(workload, ours, server)
        self._selector.register(ours, selectors.EVENT_READ, task)
        try:
            server.fork(workload, str(self._logs / workload.log_path), theirs)
        except OSError:
            theirs.close()
            self._server_gone(server)

    def _server_for(self, workload: Workload) -> WarmServer:
        version = workload.version
        if version in self._servers:
            return self._servers[version]
        source = self._service.source(version)
        single = version in self._threaded
        server = warm.start(version, workload.dag_id, source, single=single)
        self._all.add(server)
        self._selector.register(server.control, selectors.EVENT_READ, server)
        if not single:
            self._servers[version] = server
            self._evict()
        return server

    def _evict(self) -> None:
        idle = sorted((s for s in self._servers.values() if not s.busy), key=lambda s: s.used_at)
        for server in idle[: max(len(self._servers) - self._keep, 0)]:
            self._drop(server)

    def _drop(self, server: WarmServer) -> None:
        if server not in self._all:
            return
        self._all.remove(server)
        if self._servers.get(server.version) is server:
            del self._servers[server.version]
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(server.control)
        server.close()

    # What servers say ------------------------------------------------------------------------

    def _hear_server(self, server: WarmServer) -> None:
        reports = server.reports()
        if reports is None:
            self._server_gone(server)
            return
        for report in reports:
            match report:
                case Loaded():
                    self._server_loaded(server, report)
                case Forked(pid, key):
                    server.tasks[key] = pid
                    if key in self._tasks:
                        self._tasks[key].pid = pid
                case Exited(_, key, status):
                    server.tasks.pop(key, None)
                    self._task_exited(key, status)

    def _server_loaded(self, server: WarmServer, report: Loaded) -> None:
        waiting, server.waiting = server.waiting, []
        if report.error is not None:
            for workload, _, end in waiting:
                end.close()
                self._patiently(lambda w=workload: self._service.refused(w.key, report.error or ""))  # type: ignore[misc]
                self._forget(workload.key)
            self._drop(server)
            return
        server.loaded = True
        if report.threads and not server.single:
            # Forking a process with threads can deadlock: each task gets a process of its own instead.
            self._threaded.add(server.version)
            self._drop(server)
            for workload, _, end in waiting:
                end.close()
                self._forget(workload.key)
                self._in_flight += 1
                self._begin(workload)
            return
        for workload, log_file, end in waiting:
            if server.single and workload.key in self._tasks:
                self._tasks[workload.key].pid = server.process.pid
            server.fork(workload, log_file, end)

    def _server_gone(self, server: WarmServer) -> None:
        """Killed, or a single-task server whose task has ended: nothing it forked is alive any more."""
        try:
            status = server.process.wait(2)
        except subprocess.TimeoutExpired:
            server.process.kill()
            status = server.process.wait()
        keys = [*server.tasks, *(w.key for w, _, _ in server.waiting)]
        self._drop(server)
        for key in keys:
            self._task_exited(key, status if server.single else -signal.SIGKILL)

    def _task_exited(self, key: TryKey, status: int) -> None:
        task = self._tasks.get(key)
        if task is None:
            return
        task.exit_status = status
        if not task.open:
            self._conclude(task)

    # What tasks say --------------------------------------------------------------------------

    def _hear(self, task: Task) -> list[tuple[Task, Request]]:
        try:
            data = task.sock.recv(1 << 20)
        except OSError:
            data = b""
        if data:
            return [(task, request_decoder.decode(f)) for f in task.buffer.feed(data)]
        self._selector.unregister(task.sock)
        task.sock.close()
        task.open = False
        if task.exit_status is not None:
            self._conclude(task)
        return []

    def _answer(self, heard: list[tuple[Task, Request]]) -> None:
        if not heard:
            return
        replies = self._patiently(lambda: self._service.handle([(t.workload.key, r) for t, r in heard]))
        if replies is None:
            return
        finished = False
        for (task, request), reply in zip(heard, replies, strict=True):
            if isinstance(request, _FINAL):
                task.reported = finished = True
                task.deadline = None
                self._free_place(task)
            elif isinstance(reply, Claimed):
                task.claimed = True
                if task.workload.timeout is not None:
                    task.deadline = time.monotonic() + task.workload.timeout
            if isinstance(reply, Refused):
                task.reported = True
            with contextlib.suppress(OSError):
                frames.send(task.sock, encode(reply))
        if finished:
            self._on_reports()

    def _free_place(self, task: Task) -> None:
        """Its process may still be leaving, but its place can be given away."""
        if task.workload.key in self._tasks:
            del self._tasks[task.workload.key]
            self._in_flight -= 1

    def _forget(self, key: TryKey) -> None:
        task = self._tasks.pop(key, None)
        if task is None:
            return
        self._in_flight -= 1
        if task.open:
            task.open = False
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(task.sock)
            task.sock.close()

    def _conclude(self, task: Task) -> None:
        """The process has ended; if it did not say how, say it for it."""
        key = task.workload.key
        if key not in self._tasks:
            return
        self._forget(key)
        if task.reported:
            return
        reason = task.stop_reason or _death(task.exit_status or 0)
        if task.claimed:
            self._patiently(lambda: self._service.handle([(key, Failed(reason))]))
        else:
            self._patiently(lambda: self._service.lost(key, reason))
        self._on_reports()

    def _patiently(self, call: Callable[[], _T]) -> _T | None:
        """While the database is away, wait: the tasks run on and their reports are kept."""
        pause = 0.1
        while not self._ending:
            try:
                return call()
            except DatabaseUnavailable as e:
                log.warning("waiting for the database", error=str(e), pause=pause)
                time.sleep(pause)
                pause = min(pause * 2, 5.0)
        return None

    # Stopping --------------------------------------------------------------------------------

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        for task in list(self._tasks.values()):
            if task.deadline is not None and now >= task.deadline:
                self._stop(task.workload.key, f"it ran longer than its execution_timeout of {task.workload.timeout:g} s")
            if task.kill_at is not None and now >= task.kill_at:
                task.kill_at = None
                self._signal(task, signal.SIGKILL)

    def _stop(self, key: TryKey, reason: str) -> None:
        task = self._tasks.get(key)
        if task is None:
            waiting = len(self._backlog)
            self._backlog = deque(w for w in self._backlog if w.key != key)
            self._in_flight -= waiting - len(self._backlog)
            return
        task.deadline, task.stop_reason = None, reason
        task.kill_at = time.monotonic() + _KILL_GRACE
        self._signal(task, signal.SIGTERM)

    def _signal(self, task: Task, number: signal.Signals) -> None:
        if task.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(task.pid, number)


def _death(status: int) -> str:
    if status >= 0:
        return f"the task process ended with exit code {status} without reporting a result"
    name = signal.Signals(-status).name
    hint = " (out of memory, or killed by hand)" if -status == signal.SIGKILL else ""
    return f"the task process was killed by {name}{hint}"
