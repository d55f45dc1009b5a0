"""The time zone of this machine, for times that people write without one."""

from datetime import UTC, datetime, timedelta, tzinfo


class _LocalZone(tzinfo):
    """The local zone's rules for any date, unlike the fixed offset of `datetime.now().astimezone()`."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        aware = dt.replace(tzinfo=UTC).astimezone()
        local = aware.replace(tzinfo=self)
        # When clocks are set back, one hour occurs twice; `fold` marks the second occurrence.
        return local if local.utcoffset() == aware.utcoffset() else local.replace(fold=1)


LOCAL: tzinfo = _LocalZone()
"""The local zone: `datetime.now(LOCAL)`."""
