"""Schedules that a cron or a time span can't say: authors' own timetables, and time beside datasets.

``Timetable`` subclasses are user code: only the processes that load DAG files call them.  Names follow Airflow's.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from dagbook.authoring import zones
from dagbook.spec import cron
from dagbook.spec.models import DataInterval, Schedule
from dagbook.spec.ticks import next_tick, previous_tick


class TimeRestriction(NamedTuple):
    """The DAG's ``start_date`` and ``end_date``, in UTC, and its ``catchup``."""

    earliest: datetime | None
    latest: datetime | None
    catchup: bool


class DagRunInfo(NamedTuple):
    """A run to come: it may start at ``run_after``; its logical date is the start of ``data_interval``."""

    run_after: datetime
    data_interval: DataInterval

    @classmethod
    def interval(cls, start: datetime, end: datetime) -> DagRunInfo:
        return cls(end, DataInterval(start, end))

    @classmethod
    def exact(cls, at: datetime) -> DagRunInfo:
        return cls(at, DataInterval(at, at))

    @property
    def logical_date(self) -> datetime:
        return self.data_interval.start


class Timetable:
    """Subclass it, write ``next_dagrun_info``, and give an instance as a DAG's ``schedule``.

    Each run's interval must start after the last one's.  All dates are aware and in UTC.
    """

    #: One sentence for people; without it, ``summary``.
    description: str = ""

    @property
    def summary(self) -> str:
        """What lists show as the schedule."""
        return type(self).__name__

    def next_dagrun_info(self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction) -> DagRunInfo | None:
        """The scheduled run after the one for ``last_automated_data_interval``, or ``None`` when there is none any more."""
        raise NotImplementedError(f"{type(self).__name__} must define next_dagrun_info")

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """What a run by hand for ``run_after`` covers."""
        return DataInterval(run_after, run_after)

    def validate(self) -> None:
        """Raise ``ValueError`` where the timetable's own arguments are wrong; called when the DAG is read."""


class EventsTimetable(Timetable):
    """Runs at given times.  ``restrict_to_events``: a run by hand covers the last of them, not the moment itself."""

    def __init__(self, event_dates: Iterable[datetime], restrict_to_events: bool = False, presorted: bool = False, description: str = ""):
        given = list(event_dates)
        if naive := [d for d in given if d.tzinfo is None]:
            raise ValueError(f"EventsTimetable: {naive[0]} has no timezone; write datetime(2025, 1, 1, tzinfo=UTC)")
        self.event_dates = sorted({d.astimezone(UTC) for d in given})
        self.restrict_to_events = restrict_to_events
        self.description = description or f"{len(self.event_dates)} given times"

    @property
    def summary(self) -> str:
        return self.description

    def next_dagrun_info(self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction) -> DagRunInfo | None:
        found = iter(self.event_dates)
        if last_automated_data_interval:
            found = (d for d in found if d > last_automated_data_interval.start)
        elif restriction.earliest:
            found = (d for d in found if d >= restriction.earliest)
        left = list(found)
        if not restriction.catchup:
            past = [d for d in left if d <= datetime.now(UTC)]
            left = left[max(len(past) - 1, 0) :]
        return DagRunInfo.exact(left[0]) if left else None

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        if not self.restrict_to_events or not self.event_dates:
            return DataInterval(run_after, run_after)
        past = [d for d in self.event_dates if d <= run_after] or self.event_dates[:1]
        return DataInterval(past[-1], past[-1])


class MultipleCronTriggerTimetable(Timetable):
    """A run at each time that any of several crons names, covering ``interval`` before it."""

    def __init__(self, *crons: str, timezone: str | tzinfo = "UTC", interval: timedelta = timedelta(0)):
        if not crons:
            raise ValueError("MultipleCronTriggerTimetable needs at least one cron")
        for c in crons:
            cron.read(c)
        self.schedules = [Schedule("cron", c, cron=c, timezone=zones.given(timezone) or "UTC") for c in crons]
        self.interval = interval

    @property
    def summary(self) -> str:
        return ", ".join(dict.fromkeys(s.cron or "" for s in self.schedules))

    def next_dagrun_info(self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction) -> DagRunInfo | None:
        moment = timedelta(microseconds=1)
        now = datetime.now(UTC)
        after = last_automated_data_interval.end if last_automated_data_interval else (restriction.earliest or now) - moment
        if not restriction.catchup:
            # The newest tick that has come, whatever lies before it.
            after = max(after, max(previous_tick(s, "UTC", now, now + moment) for s in self.schedules) - moment)
        tick = min(next_tick(s, "UTC", after, after) for s in self.schedules)
        return DagRunInfo(tick, DataInterval(tick - self.interval, tick))

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        return DataInterval(run_after - self.interval, run_after)


class DatasetOrTime:
    """Runs by a timetable (or a cron, a preset, a time span), and whenever the datasets have news."""

    def __init__(self, timetable: Any, datasets: Any):
        self.timetable, self.datasets = timetable, datasets
