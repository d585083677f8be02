"""The executor's side of one warm server process."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field

import msgspec

from dagbook.settings import user_code_environment
from dagbook.spec.models import DagSource
from dagbook.wire.tasks import Fork, Load, ServerReport, TryKey, Workload, encode, server_report_decoder
from dagbook.worker import frames


@dataclass(eq=False)
class WarmServer:
    """``waiting``: forks asked for before the import had ended.  ``tasks``: pids by try, once forked."""

    version: str
    process: subprocess.Popen[bytes]
    control: socket.socket
    loaded: bool = False
    single: bool = False
    used_at: float = field(default_factory=time.monotonic)
    waiting: list[tuple[Workload, str, socket.socket]] = field(default_factory=list)
    tasks: dict[TryKey, int] = field(default_factory=dict)
    buffer: frames.FrameBuffer = field(default_factory=frames.FrameBuffer)

    @property
    def busy(self) -> bool:
        return bool(self.tasks or self.waiting)

    def fork(self, workload: Workload, log_file: str, task_end: socket.socket) -> None:
        """Hand the task its end of the channel; kept until the import has ended."""
        self.used_at = time.monotonic()
        if not self.loaded:
            self.waiting.append((workload, log_file, task_end))
            return
        with task_end:
            self.tasks[workload.key] = self.process.pid if self.single else 0
            request = encode(Fork(workload, log_file, in_place=self.single))
            frames.send(self.control, request, (task_end.fileno(),))

    def reports(self) -> list[ServerReport] | None:
        """What the server said, or ``None`` when it has gone."""
        try:
            data = self.control.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            return None
        return [server_report_decoder.decode(f) for f in self.buffer.feed(data)] if data else None

    def close(self) -> None:
        """It sees the end of its control stream, kills what it forked, and exits."""
        self.control.close()
        for _, _, task_end in self.waiting:
            task_end.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.05)


def start(version: str, dag_id: str, source: DagSource, *, single: bool = False) -> WarmServer:
    """Start a server and tell it what to import; it answers ``Loaded`` in its own time."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "dagbook.worker.zygote", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env=user_code_environment(),
            start_new_session=True,
        )
    server = WarmServer(version, process, ours, single=single)
    load = Load(dag_id, version, source.text, source.path, msgspec.msgpack.encode(source.segments))
    frames.send(ours, encode(load))
    return server
