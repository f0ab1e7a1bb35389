// The W3C trace context of a request or a job: which trace it belongs to, and which span is its parent
// (https://www.w3.org/TR/trace-context/, the headers traceparent and tracestate). Pure.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

inline constexpr std::size_t kMaxTraceState = 512;

/// Ids are lower-case hex, as they are on the wire. Without a trace, all of it is empty.
struct TraceContext {
  std::array<char, 32> trace{};
  std::array<char, 16> span{};  // of whoever made the request, or of the work that is done now
  bool sampled = false;         // whoever began the trace records it
  std::string state;            // tracestate, which is passed on as it came

  explicit operator bool() const { return trace[0] != 0; }
  /// Empty if there is none.
  [[nodiscard]] std::string_view trace_id() const { return {trace.data(), *this ? trace.size() : 0}; }
  [[nodiscard]] std::string_view span_id() const { return {span.data(), *this ? span.size() : 0}; }
  /// The same trace, below another span.
  [[nodiscard]] TraceContext below(std::uint64_t span_id) const;
  bool operator==(const TraceContext&) const = default;
};

/// Nothing unless the text is what the standard asks for; a state that is not is left out. Text of a later version is
/// read as far as this version knows it.
std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate = {});
/// "00-TRACE-SPAN-01"; empty if there is none.
std::string traceparent_of(const TraceContext& context);
/// A new trace with this root; the numbers must be random.
TraceContext new_trace(std::uint64_t high, std::uint64_t low, std::uint64_t span_id, bool sampled);
/// " trace_id=..." for a line of the log; empty if there is none.
std::string trace_for_log(const TraceContext& context);

}  // namespace tidemark
