"""Set when a DAG's next scheduled run is due."""

from __future__ import annotations

from datetime import datetime

from dagbook import settings
from dagbook.decide.calendar import next_interval
from dagbook.errors import Invalid, InvalidDag
from dagbook.spec.models import DagSpec, DataInterval
from dagbook.store import timetables, versions
from dagbook.store.work import Work
from dagbook.worker.timetable import Question, ask


def set_next_run(work: Work, spec: DagSpec, now: datetime) -> None:
    """A schedule that can't be followed is said on the DAG."""
    told = timetables.told(work, spec.dag_id) if spec.has_own_timetable else None
    try:
        versions.set_next(work, spec.dag_id, next_interval(spec, versions.last_interval(work, spec.dag_id), now, told))
    except ValueError as e:
        versions.set_next(work, spec.dag_id, None, str(e))


def told_by_hand(work: Work, version: str, dag_id: str, at: datetime) -> DataInterval:
    """What a run by hand for ``at`` covers, as the DAG's own timetable says."""
    question = Question(versions.source_of(work, version), dag_id, at, by_hand=at)
    return _asked(question)[0]


def told_between(work: Work, version: str, dag_id: str, start: datetime, end: datetime, limit: int) -> list[DataInterval]:
    """The intervals that start in [start, end], as the DAG's own timetable says; at most ``limit``."""
    question = Question(versions.source_of(work, version), dag_id, end, earliest=start, until=end, limit=limit)
    return [i for i in _asked(question) if i.start >= start]


def _asked(question: Question) -> list[DataInterval]:
    try:
        return ask(question, settings.read().parse_timeout)
    except InvalidDag as e:
        raise Invalid(str(e)) from None


def start_over(work: Work, spec: DagSpec, now: datetime) -> None:
    """A new version, or a DAG that goes on after a pause: what its timetable has said before no longer counts."""
    if spec.has_own_timetable:
        timetables.want(work, spec.dag_id, now, anew=True)
    set_next_run(work, spec, now)
