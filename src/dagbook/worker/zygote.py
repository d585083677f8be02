"""A warm server: imports one DAG version once, then forks for each task of it.

It is the parent of its task processes and tells how each ended.  When its executor goes, so do they.
"""

from __future__ import annotations

import array
import contextlib
import gc
import os
import select
import signal
import socket
import sys
import threading

import msgspec

from dagbook import compat
from dagbook.authoring.builder import DAG
from dagbook.errors import InvalidDag
from dagbook.spec.models import DagSource, Segment
from dagbook.wire.tasks import (
    Exited,
    Fork,
    Forked,
    Load,
    Loaded,
    ServerReport,
    TryKey,
    encode,
    server_request_decoder,
)
from dagbook.worker import child, frames
from dagbook.worker.load import load


class Zygote:
    def __init__(self, control: socket.socket):
        self._control = control
        self._buffer = frames.FrameBuffer()
        self._fds: list[int] = []
        self._children: dict[int, TryKey] = {}
        self._dags: dict[str, DAG] = {}
        self._source = DagSource("")

    def serve(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            ready, _, _ = select.select([self._control.fileno(), reading], [], [])
            if reading in ready:
                os.read(reading, 4096)
                self._reap()
            if self._control.fileno() in ready and not self._hear():
                break
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _say(self, report: ServerReport) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            frames.send(self._control, encode(report))

    def _hear(self) -> bool:
        """Take what the executor sent; false when it has gone."""
        data, ancillary, _, _ = self._control.recvmsg(1 << 20, socket.CMSG_SPACE(16 * 4))
        for level, kind, raw in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(raw[: len(raw) - len(raw) % received.itemsize])
                self._fds += received
        if not data:
            return False
        for frame in self._buffer.feed(data):
            request = server_request_decoder.decode(frame)
            if isinstance(request, Load):
                self._load(request)
            else:
                self._fork(request, self._fds.pop(0))
        return True

    def _load(self, request: Load) -> None:
        compat.install()
        segments = msgspec.msgpack.decode(request.segments, type=tuple[Segment, ...])
        self._source = DagSource(request.text, segments, request.path)
        try:
            self._dags = {d.dag_id: d for d in load(self._source)}
        except InvalidDag as e:
            self._say(Loaded(error=str(e)))
            return
        # Collected now and then left alone, so that forks share these pages.
        gc.collect()
        gc.freeze()
        self._say(Loaded(threads=threading.active_count() - 1))

    def _fork(self, request: Fork, fd: int) -> None:
        if request.in_place:
            self._run(request, fd)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._run(request, fd)
        os.close(fd)
        self._children[pid] = request.workload.key
        self._say(Forked(pid, request.workload.key))

    def _run(self, request: Fork, fd: int) -> None:
        """In the task process: never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for s in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
                signal.signal(s, signal.SIG_DFL)
            if not request.in_place:
                self._control.close()
            sock = socket.socket(fileno=fd)
            sock.setblocking(True)
            code = child.run(sock, request.workload, request.log_file, self._dags, self._source)
        finally:
            # No return into the server's loop, no atexit handlers of the import: this process is the task.
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            key = self._children.pop(pid, None)
            if key is not None:
                self._say(Exited(pid, key, os.waitstatus_to_exitcode(status)))


def main(fd: int) -> None:
    Zygote(socket.socket(fileno=fd)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
