// The log of the process: one line for each message, which its operator reads. Every thread may write. A header of
// spdlog would cost each source that logs some seconds of compilation.
#pragma once
#include <fmt/core.h>

#include <cstdint>

namespace tidemark {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kNone };

/// Leaves out the messages below this level.
void set_log_level(LogLevel level);

/// Tells whether messages of this level are written.
[[nodiscard]] bool is_logged(LogLevel level);

/// Writes a message whose values are given as fmt::format() takes them. It is left out if there is no memory for it.
void write_to_log(LogLevel level, fmt::string_view format, fmt::format_args values);

template <class... Values>
void log_debug(fmt::format_string<Values...> format, Values&&... values) {
  write_to_log(LogLevel::kDebug, format, fmt::make_format_args(values...));
}
template <class... Values>
void log_info(fmt::format_string<Values...> format, Values&&... values) {
  write_to_log(LogLevel::kInfo, format, fmt::make_format_args(values...));
}
template <class... Values>
void log_warning(fmt::format_string<Values...> format, Values&&... values) {
  write_to_log(LogLevel::kWarning, format, fmt::make_format_args(values...));
}
template <class... Values>
void log_error(fmt::format_string<Values...> format, Values&&... values) {
  write_to_log(LogLevel::kError, format, fmt::make_format_args(values...));
}

}  // namespace tidemark
