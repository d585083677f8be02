"""A process of its own that loads one DAG source and says what is in it: the DAG processor's arm."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dagbook import settings
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.codec import decode, encode
from dagbook.spec.models import DagSource, DagSpec
from dagbook.wire.rest import FaultBody
from dagbook.worker import isolated


class Parsed(Struct, frozen=True):
    dags: list[tuple[bytes, str]] = []
    faults: list[FaultBody] = []


def parse(source: DagSource, timeout: float) -> list[tuple[DagSpec, str]]:
    """Load ``source`` in an isolated process; ``InvalidDag`` on faults, a crash, or after ``timeout`` seconds."""
    data = isolated.call(__name__, msgspec.msgpack.encode(source), timeout, source.path, "importing it")
    parsed = msgspec.msgpack.decode(data, type=Parsed)
    if parsed.faults:
        raise InvalidDag([Fault(f.message, f.origin, f.line) for f in parsed.faults])
    return [(decode(spec), version) for spec, version in parsed.dags]


def _respond(request: bytes) -> bytes:
    from dagbook.worker.load import load_specs

    source = msgspec.msgpack.decode(request, type=DagSource)
    try:
        parsed = Parsed([(encode(spec), version) for spec, version in load_specs(source, settings.read().default_timezone)])
    except InvalidDag as e:
        parsed = Parsed(faults=[FaultBody(f.message, f.origin, f.line) for f in e.faults])
    return msgspec.msgpack.encode(parsed)


if __name__ == "__main__":
    isolated.answer(_respond)
