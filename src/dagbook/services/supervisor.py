"""Keep one child process running: restart it when it ends, stop it when this process leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import structlog

from dagbook.services.loop import Backoff

log = structlog.get_logger(__name__)
#: A child that lived this long was healthy; its end starts the pauses anew.
_HEALTHY = 30.0
_STOP_GRACE = 10.0
_LOG_LIMIT = 10 * 1024 * 1024


class Supervisor:
    """Runs ``python -m dagbook KIND``; what it says goes to ``KIND.log`` in ``logs``.

    The child watches its parent, so it ends even where this process is killed.
    """

    def __init__(self, kind: str, logs: Path):
        self.kind, self._log = kind, logs / f"{kind}.log"
        self._stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name=f"supervise-{kind}", daemon=True)
        self.restarts = 0

    def start(self) -> None:
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child and self._child.poll() is None else None

    def _run(self) -> None:
        backoff = Backoff(first=0.2, most=15.0)
        while not self._stop.is_set():
            began = time.monotonic()
            self._child = self._spawn()
            code = self._child.wait()
            if self._stop.is_set():
                return
            if time.monotonic() - began > _HEALTHY:
                backoff.reset()
            pause = backoff.pause()
            self.restarts += 1
            log.error(f"the {self.kind} ended and is started again", code=code, pause=pause, log=str(self._log))
            self._stop.wait(pause)

    def _spawn(self) -> subprocess.Popen[bytes]:
        # From this thread, which outlives the child: the kernel's death signal follows the parent's thread.
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as out:
            if out.tell() > _LOG_LIMIT:
                out.truncate(0)
            return subprocess.Popen(
                [sys.executable, "-m", "dagbook", self.kind, "--parent", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def stop(self) -> None:
        self._stop.set()
        child = self._child
        if child is None or child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        try:
            child.wait(_STOP_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
