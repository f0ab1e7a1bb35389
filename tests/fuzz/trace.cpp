// A traceparent, and a tracestate in the second line.
#include "common/base/trace_context.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  auto state = fuzz::text_of(bytes, size);
  const auto parent = fuzz::take_until(state, '\n');
  const auto trace = parse_trace(parent, state);
  if (!trace) return 0;
  fuzz::require(static_cast<bool>(*trace), "a trace that was read is one");
  fuzz::require(trace->state.empty() || trace->state == state, "a state is passed on as it came, or not at all");
  fuzz::require(parse_trace(traceparent_of(*trace), trace->state) == trace, "what is passed on is the same trace");
  fuzz::require(parse_trace(traceparent_of(trace->below(0)), {}).has_value(), "what is below it is a trace");
  return 0;
}
