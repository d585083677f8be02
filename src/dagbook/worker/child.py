"""The life of one task process: claim, run, report, exit."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import random
import signal
import socket
import sys

from dagbook.artifacts.codecs import NotCarried
from dagbook.authoring.builder import DAG
from dagbook.errors import FailTask, RescheduleTask, SkipTask, StaleTry, TaskDeferred
from dagbook.spec.models import DagSource
from dagbook.wire.tasks import Claim, Claimed, Deferred, Failed, Request, Rescheduled, Skipped, Succeeded, Workload
from dagbook.worker.channel import Channel
from dagbook.worker.execute import call_back, execute
from dagbook.worker.trace import describe, summary

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
#: The try was refused, or the engine has gone: nothing was reported.
EXIT_UNREPORTED = 75


def run(sock: socket.socket, workload: Workload, log_file: str, dags: dict[str, DAG], source: DagSource) -> int:
    """Run the workload in this process and return its exit code; nothing is raised."""
    _settle(log_file)
    channel = Channel(sock)
    try:
        claimed = channel.ask(Claim(os.getpid(), socket.gethostname()))
    except (StaleTry, ConnectionError) as e:
        print(f"Not run: {e}", file=sys.stderr)
        return EXIT_UNREPORTED
    assert isinstance(claimed, Claimed)
    report = _outcome(channel, workload, claimed, dags, source)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        channel.ask(report)
    except (StaleTry, ConnectionError) as e:
        print(f"Result refused: {e}", file=sys.stderr, flush=True)
        return EXIT_UNREPORTED
    return 0


def _settle(log_file: str) -> None:
    """Own session (so that a kill reaches all that the task starts), own log, own randomness."""
    if os.getpid() != os.getsid(0):
        os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.makedirs(os.path.dirname(log_file), exist_ok=True)
    fd = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream, number in (("stdout", 1), ("stderr", 2)):
        setattr(sys, stream, os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, force=True, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    random.seed()
    if numpy := sys.modules.get("numpy"):
        with contextlib.suppress(AttributeError):
            numpy.random.seed()


def _outcome(channel: Channel, workload: Workload, claimed: Claimed, dags: dict[str, DAG], source: DagSource) -> Request:
    if workload.dag_id not in dags:
        return Failed(f"the version has no DAG {workload.dag_id!r}", retryable=False)
    try:
        if claimed.callback is not None:
            call_back(dags[workload.dag_id], claimed, workload.key, channel)
            return Succeeded(None)
        left = execute(dags[workload.dag_id], workload.key, claimed, channel)
        return Succeeded(left.result, left.label, left.untaken, left.news)
    except TaskDeferred as e:
        print(f"Deferred: {e}", file=sys.stderr)
        return Deferred(e.trigger, e.kwargs, e.method, e.timeout)
    except RescheduleTask as e:
        print(f"Rescheduled: {e}", file=sys.stderr)
        return Rescheduled(e.at)
    except SkipTask as e:
        print(f"Skipped: {e}", file=sys.stderr)
        return Skipped(str(e) or "the task skipped itself")
    except FailTask as e:
        return Failed(_told(e, source), retryable=False)
    except NotCarried as e:
        print(e, file=sys.stderr)
        return Failed(str(e), retryable=False)
    except BaseException as e:
        return Failed(_told(e, source))


def _told(error: BaseException, source: DagSource) -> str:
    """Write the whole story to the log; return its one line."""
    try:
        text, line = describe(error, source)
    except Exception as broken:  # an exception whose own __str__ raises
        return f"{type(error).__name__} (its message can't be shown: {type(broken).__name__})"
    sys.stderr.write(text)
    return line or summary(error, source)
