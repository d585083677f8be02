"""Processes of their own for what must run user code outside a task: loading DAG files, asking timetables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

from dagbook import settings
from dagbook.errors import Fault, InvalidDag


def call(module: str, request: bytes, timeout: float, path: str | None, doing: str) -> bytes:
    """Run ``python -m module`` without credentials; its answer to ``request``.

    ``InvalidDag``, at ``path``, where it crashes or takes longer than ``timeout`` seconds; ``doing`` says at what.
    """
    # A file, not a pipe: a large answer must not block a child that nobody reads from yet.
    with tempfile.TemporaryFile() as results:
        child = subprocess.Popen(
            [sys.executable, "-m", module, str(results.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(results.fileno(),),
            env=settings.user_code_environment(),
            start_new_session=True,
        )
        try:
            _, noise = child.communicate(request, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise InvalidDag([Fault(f"{doing} took longer than {timeout:g} s and was stopped", path, 1)]) from None
        results.seek(0)
        data = results.read()
    if not data:
        tail = noise.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no output"]
        raise InvalidDag([Fault(f"the process for {doing} ended with code {child.returncode}: {tail[0]}", path, 1)])
    return data


def answer(respond: Callable[[bytes], bytes]) -> None:
    """The child's side: answer the request on standard input on the file descriptor that is its argument; user prints go to stderr."""
    request = sys.stdin.buffer.read()
    os.dup2(2, 1)
    data = respond(request)
    with os.fdopen(int(sys.argv[1]), "wb") as results:
        results.write(data)
    # User code may have left threads behind that would keep this process alive.
    sys.stderr.flush()
    os._exit(0)
