// A job as server-sent events: event "job" with the job's JSON whenever its record has changed, and "end" after the
// last. A comment every few seconds keeps the connection known to be alive. One stream; no thread of its own.
#pragma once
#include <atomic>
#include <memory>

#include "common/http/http.h"
#include "jobs/store/job_store.h"

namespace tidemark::api {

std::unique_ptr<http::BodySource> make_job_events(jobs::JobStore& jobs, Clock& clock, std::string job_id,
                                                  std::shared_ptr<const std::atomic<bool>> stopping);

}  // namespace tidemark::api
