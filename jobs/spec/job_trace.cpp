#include "jobs/spec/job_trace.h"

#include "common/base/encoding.h"

namespace tidemark::jobs {
namespace {

TraceContext below(const TraceContext& parent, const std::string& what) {
  if (!parent) return {};
  const auto digest = sha256(std::string(parent.trace_id()) + '\n' + what);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < sizeof id; ++i) id = id << 8 | static_cast<unsigned char>(digest[i]);
  return parent.below(id);
}

}  // namespace

TraceContext job_trace(const TraceContext& submitted, std::string_view job_id) {
  return below(submitted, "job\n" + std::string(job_id));
}

TraceContext delivery_trace(const TraceContext& submitted, std::string_view job_id, std::uint64_t epoch) {
  return below(submitted, "delivery\n" + std::string(job_id) + '\n' + std::to_string(epoch));
}

}  // namespace tidemark::jobs
