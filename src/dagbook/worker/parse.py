"""A process of its own that loads one DAG source and says what is in it: the DAG processor's arm.

Reads a ``DagSource`` as msgpack on standard input, writes a ``Parsed`` on the file descriptor given as
its argument; user code's prints go to standard error.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import msgspec
from msgspec import Struct

from dagbook import settings
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.codec import decode, encode
from dagbook.spec.models import DagSource, DagSpec
from dagbook.wire.rest import FaultBody


class Parsed(Struct, frozen=True):
    dags: list[tuple[bytes, str]] = []
    faults: list[FaultBody] = []


def parse(source: DagSource, timeout: float) -> list[tuple[DagSpec, str]]:
    """Load ``source`` in an isolated process; ``InvalidDag`` on faults, a crash, or after ``timeout`` seconds."""
    # A file, not a pipe: a large answer must not block a child that nobody reads from yet.
    with tempfile.TemporaryFile() as results:
        child = subprocess.Popen(
            [sys.executable, "-m", "dagbook.worker.parse", str(results.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(results.fileno(),),
            env=settings.user_code_environment(),
            start_new_session=True,
        )
        try:
            _, noise = child.communicate(msgspec.msgpack.encode(source), timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise InvalidDag([Fault(f"importing it took longer than {timeout:g} s and was stopped", source.path, 1)]) from None
        results.seek(0)
        data = results.read()
    if not data:
        tail = noise.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no output"]
        raise InvalidDag([Fault(f"the importing process ended with code {child.returncode}: {tail[0]}", source.path, 1)])
    parsed = msgspec.msgpack.decode(data, type=Parsed)
    if parsed.faults:
        raise InvalidDag([Fault(f.message, f.origin, f.line) for f in parsed.faults])
    return [(decode(spec), version) for spec, version in parsed.dags]


def main(out: int) -> None:
    from dagbook.worker.load import load_specs

    source = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=DagSource)
    zone = settings.read().default_timezone
    os.dup2(2, 1)
    try:
        parsed = Parsed([(encode(spec), version) for spec, version in load_specs(source, zone)])
    except InvalidDag as e:
        parsed = Parsed(faults=[FaultBody(f.message, f.origin, f.line) for f in e.faults])
    with os.fdopen(out, "wb") as results:
        results.write(msgspec.msgpack.encode(parsed))
    # User code may have left threads behind that would keep this process alive.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
