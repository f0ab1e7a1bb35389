#include "common/base/log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <new>

namespace tidemark {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kNone:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { spdlog::set_level(level_of(level)); }

bool is_logged(LogLevel level) { return spdlog::should_log(level_of(level)); }

void write_to_log(LogLevel level, fmt::string_view format, fmt::format_args values) {
  if (!is_logged(level)) return;
  try {
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender(text), format, values);
    spdlog::log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
  } catch (const std::bad_alloc&) {
    return;  // the work of the caller matters more than its message
  }
}

}  // namespace tidemark
