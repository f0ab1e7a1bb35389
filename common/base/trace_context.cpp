#include "common/base/trace_context.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::size_t kParentLength = 55;  // of version 00
constexpr std::size_t kMaxParent = 256;    // of a later version, which may append fields
constexpr std::size_t kMaxStateMembers = 32;
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return kDigits.find(c) != std::string_view::npos; });
}

bool is_id(std::string_view text) {
  return is_hex(text) && std::ranges::any_of(text, [](char c) { return c != '0'; });
}

/// Writes 1 for 0, since 0 is not a valid id.
void write_hex(std::uint64_t value, char* out) {
  if (value == 0) value = 1;
  for (int digit = 15; digit >= 0; --digit, value >>= 4) out[digit] = kDigits[value & 0xF];
}

/// Tells whether the text is a list of name=value. Only the form is checked, since each maker gives its own meaning to
/// the names and values.
bool is_state(std::string_view state) {
  if (state.empty() || state.size() > kMaxTraceState) return false;
  if (!std::ranges::all_of(state, [](char c) { return c == '\t' || (c >= 0x20 && c <= 0x7E); })) return false;
  std::size_t members = 0;
  while (!state.empty()) {
    const auto member = state.substr(0, state.find(','));
    state.remove_prefix(std::min(state.size(), member.size() + 1));
    const bool blank = member.find_first_not_of(" \t") == std::string_view::npos;
    if (blank) continue;  // the standard allows empty items
    const auto equals = member.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == member.size()) return false;
    ++members;
  }
  return members > 0 && members <= kMaxStateMembers;
}

}  // namespace

TraceContext TraceContext::below(std::uint64_t span_id) const {
  TraceContext out = *this;
  write_hex(span_id, out.span.data());
  return out;
}

std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate) {
  if (traceparent.size() < kParentLength || traceparent.size() > kMaxParent) return std::nullopt;
  const auto version = traceparent.substr(0, 2);
  const auto trace = traceparent.substr(3, 32);
  const auto span = traceparent.substr(36, 16);
  const auto flags = traceparent.substr(53, 2);
  const bool dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  if (!dashes || !is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags)) {
    return std::nullopt;
  }
  const bool longer = traceparent.size() > kParentLength;
  if (longer && (version == "00" || traceparent[kParentLength] != '-')) return std::nullopt;
  TraceContext out;
  std::ranges::copy(trace, out.trace.begin());
  std::ranges::copy(span, out.span.begin());
  out.sampled = (kDigits.find(flags[1]) & 1U) != 0;
  if (is_state(tracestate)) out.state = tracestate;
  return out;
}

std::string traceparent_of(const TraceContext& context) {
  if (!context) return {};
  std::string out;
  out.reserve(kParentLength);
  out.append("00-").append(context.trace_id()).append("-").append(context.span_id());
  return out.append(context.sampled ? "-01" : "-00");
}

TraceContext new_trace(std::uint64_t high, std::uint64_t low, std::uint64_t span_id, bool sampled) {
  TraceContext out;
  write_hex(high, out.trace.data());
  write_hex(low, out.trace.data() + 16);
  out.sampled = sampled;
  return out.below(span_id);
}

std::string trace_for_log(const TraceContext& context) {
  return context ? " trace_id=" + std::string(context.trace_id()) : std::string();
}

}  // namespace tidemark
