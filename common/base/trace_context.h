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

/// Ids are lower-case hex, as on the wire. Without a trace, all fields are empty.
struct TraceContext {
  std::array<char, 32> trace{};
  std::array<char, 16> span{};  // of the caller, or of the work that is done now
  bool sampled = false;         // the process that began the trace records it
  std::string state;            // tracestate, which is passed on unchanged

  explicit operator bool() const { return trace[0] != 0; }
  /// These are empty if there is no trace.
  [[nodiscard]] std::string_view trace_id() const { return {trace.data(), *this ? trace.size() : 0}; }
  [[nodiscard]] std::string_view span_id() const { return {span.data(), *this ? span.size() : 0}; }
  /// The same trace, below another span.
  [[nodiscard]] TraceContext below(std::uint64_t span_id) const;
  bool operator==(const TraceContext&) const = default;
};

/// Returns nothing unless traceparent conforms to the standard; a tracestate that does not conform is left out. Text of
/// a later version is read as far as this version knows it.
std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate = {});
/// Returns "00-TRACE-SPAN-01"; empty if there is no trace.
std::string traceparent_of(const TraceContext& context);
/// A new trace with this root; the numbers must be random.
TraceContext new_trace(std::uint64_t high, std::uint64_t low, std::uint64_t span_id, bool sampled);
/// Returns " trace_id=..." for a line of the log; empty if there is no trace.
std::string trace_for_log(const TraceContext& context);

}  // namespace tidemark
