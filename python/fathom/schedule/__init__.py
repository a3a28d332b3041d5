"""Measurements that repeat: units of systemd and lines of cron, written for a person to enable."""

from fathom.schedule.names import escaped_name, unit_name
from fathom.schedule.plan import Schedule, plan_schedule
from fathom.schedule.units import cron_line, service_text, timer_text
from fathom.schedule.written import (
    Written,
    check_calendar,
    remove_schedule,
    unit_folder,
    write_schedule,
    written_schedules,
)

__all__ = [
    "Schedule",
    "Written",
    "check_calendar",
    "cron_line",
    "escaped_name",
    "plan_schedule",
    "remove_schedule",
    "service_text",
    "timer_text",
    "unit_folder",
    "unit_name",
    "write_schedule",
    "written_schedules",
]
