// A signed request to a user's endpoint. It is sent until the endpoint accepts it, always with the same webhook-id (the
// job's id), so that the endpoint can recognise a repetition: if a worker dies between the request and the end of the
// job, the request is sent twice. The meaning of the answers:
//   2xx                                    done
//   429; 408 and 503 with Retry-After      later, as the endpoint says; not counted as an attempt
//   other 5xx, 408, no answer              tried again
//   everything else, including redirects   poison at once
#pragma once
#include "jobs/kinds/kind.h"
#include "jobs/spec/on_end.h"

namespace tidemark::jobs {

struct CallbackSpec : CallbackEndpoint {
  std::string method = "POST";
  std::optional<std::string> body;  // the bytes to send
  bool body_is_json = true;
  std::uint32_t timeout_ms = 10'000;
  bool operator==(const CallbackSpec&) const = default;

  static constexpr std::string_view kName = "callback";
  static constexpr bool kSelectsEntities = false;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::CallbackSpec spec);
}  // namespace tidemark::workers
