"""A process of its own that asks an author's timetable which runs come next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from dagbook import settings
from dagbook.authoring.builder import DAG
from dagbook.authoring.freeze import freeze
from dagbook.authoring.timetables import DatasetOrTime, TimeRestriction, Timetable
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.models import DagSource, DataInterval
from dagbook.wire.rest import FaultBody
from dagbook.worker import isolated
from dagbook.worker.load import fault_of, load


class Question(Struct, frozen=True):
    """What comes after ``last``: all that starts by ``until``, or all that is due by ``now`` and ``ahead`` more; at most ``limit``.

    ``by_hand``: only what a run by hand for that time covers.
    """

    source: DagSource
    dag_id: str
    now: datetime
    last: DataInterval | None = None
    earliest: datetime | None = None
    until: datetime | None = None
    ahead: int = 16
    limit: int = 256
    by_hand: datetime | None = None


class Answer(Struct, frozen=True):
    intervals: list[DataInterval] = []
    fault: FaultBody | None = None


def ask(question: Question, timeout: float) -> list[DataInterval]:
    """``InvalidDag`` where the timetable raises or answers with what can't be, and as ``isolated.call``."""
    request = msgspec.msgpack.encode(question)
    data = isolated.call(__name__, request, timeout, question.source.path, f"asking the timetable of DAG {question.dag_id!r}")
    reply = msgspec.msgpack.decode(data, type=Answer)
    if reply.fault:
        raise InvalidDag([Fault(reply.fault.message, reply.fault.origin, reply.fault.line)])
    return reply.intervals


def _respond(request: bytes) -> bytes:
    question = msgspec.msgpack.decode(request, type=Question)
    try:
        dag = next(d for d in load(question.source) if d.dag_id == question.dag_id)
        try:
            found = list(intervals(dag, question))
        except Exception as e:
            raise InvalidDag([fault_of(e, question.source)]) from e
        reply = Answer(found)
    except InvalidDag as e:
        reply = Answer(fault=FaultBody(e.faults[0].message, e.faults[0].origin, e.faults[0].line))
    return msgspec.msgpack.encode(reply)


def intervals(dag: DAG, question: Question) -> Iterator[DataInterval]:
    timetable = dag.schedule.timetable if isinstance(dag.schedule, DatasetOrTime) else dag.schedule
    assert isinstance(timetable, Timetable)
    if question.by_hand:
        yield _checked(timetable, timetable.infer_manual_data_interval(run_after=question.by_hand))
        return
    spec = freeze(dag, question.source, settings.read().default_timezone)
    earliest = max(filter(None, [spec.start_date, question.earliest]), default=None)
    bounds = TimeRestriction(earliest, spec.end_date, spec.catchup or question.until is not None)
    last, ahead = question.last, question.ahead
    for _ in range(question.limit):
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=bounds)
        if info is None:
            return
        found = _checked(timetable, info.data_interval, info.run_after)
        if last is not None and found.start <= last.start:
            raise ValueError(f"{timetable.summary} gave {found.start} as the run after {last.start}; each must start after the last")
        if any(end is not None and found.start > end for end in (spec.end_date, question.until)):
            return
        if question.until is None and found.due > question.now:
            if ahead == 0:
                return
            ahead -= 1
        yield found
        last = found


def _checked(timetable: Timetable, interval: DataInterval, run_after: datetime | None = None) -> DataInterval:
    moments = [interval.start, interval.end, run_after or interval.end]
    for moment in moments:
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            raise ValueError(f"{timetable.summary} gave {moment!r}, which is no datetime with a timezone")
    # Plain datetimes, whatever library's the author's are.
    start, end, due = (datetime.combine(u.date(), u.time(), UTC) for u in (m.astimezone(UTC) for m in moments))
    if end < start:
        raise ValueError(f"{timetable.summary} gave an interval that ends ({end}) before it starts ({start})")
    return DataInterval(start, end, due)


if __name__ == "__main__":
    isolated.answer(_respond)
