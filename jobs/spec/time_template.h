// Text with moments in it, filled in when a schedule is due: {now} is the due time, {today} the midnight before it in
// the schedule's time zone; {now-60d}, {now+90m}, {today-7d} are before or after it by that much (units s m h d w;
// {today} takes d and w, which are days of the calendar). A moment is written in UTC, ISO 8601: 2026-11-21T02:00:00Z. A
// form after a colon changes that, and uses the schedule's time zone: {today-1d:yyyyMMdd} is 20261120. A form has yyyy,
// MM, dd, HH, mm and ss, with '-' or '_' between them. "{{" and "}}" stand for braces. Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "jobs/schedules/cron.h"

namespace tidemark::jobs {

/// The message of kScheduleInvalid names the mistake.
Result<std::string> fill_time_template(std::string_view text, Time due, TimeZone zone);

}  // namespace tidemark::jobs
