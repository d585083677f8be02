"""Time zones and dates as authors give them: IANA names, any library's ``tzinfo``, naive and aware dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

#: Dates beyond them are slips, and too near the ends of the calendar to reckon with.
FIRST_YEAR, LAST_YEAR = 1900, 9000


def known(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # no such zone, a path, a folder
        return False
    return True


def given(zone: str | tzinfo | None) -> str | None:
    """The name by which an author gave a zone: a word, or an object of zoneinfo, pytz or pendulum."""
    if zone is None or isinstance(zone, str):
        return zone or None
    for attribute in ("key", "zone", "name"):
        name = getattr(zone, attribute, None)
        if isinstance(name, str) and name:
            return name
    return str(zone)


def of(moment: datetime) -> str:
    """The zone of an aware ``moment``.  ``ValueError`` where no IANA name says the same as its ``tzinfo``."""
    zone = moment.tzinfo
    assert zone is not None
    named = isinstance(zone, ZoneInfo) or any(isinstance(getattr(zone, a, None), str) for a in ("key", "zone", "name"))
    if named and known(name := given(zone) or ""):
        return name
    # A fixed offset has a name of its own, if it is one of whole hours; "Etc/GMT-2" lies two hours east.
    offsets = {zone.utcoffset(datetime(moment.year, month, 1)) for month in range(1, 13)}
    hours, rest = divmod(moment.utcoffset() or timedelta(0), timedelta(hours=1))
    if len(offsets) > 1 or rest or not -12 <= hours <= 14:
        raise ValueError(f"the time zone of {moment.isoformat()} has no name; give the DAG one, such as timezone='Europe/Berlin'")
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"


def utc(value: object, zone: str, name: str) -> datetime | None:
    """The instant of a date as written; a naive one is read in ``zone``.  ``ValueError`` names the date as ``name``."""
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise ValueError(f"{name} {value!r} is a {type(value).__name__}; give a datetime, such as datetime(2025, 1, 1)")
    if not FIRST_YEAR <= value.year <= LAST_YEAR:
        raise ValueError(f"{name} {value.isoformat()} lies outside the years {FIRST_YEAR} to {LAST_YEAR}")
    return (value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
