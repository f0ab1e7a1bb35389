// Why jobs that are queued do not run: told beside them, for the page and the command line.
#pragma once
#include <map>
#include <string>

#include "api/rest/api_routes.h"

namespace tidemark::api {

class Waiting {
 public:
  /// As it is now; what the stores do not answer is left out.
  static Task<Waiting> look(Api& api);

  /// Empty of a job that is not queued, and if nothing is known to be in its way.
  [[nodiscard]] std::string why(const jobs::JobRecord& job) const;

 private:
  Time now_{};
  std::map<std::string, queue_service::QueueFigures, std::less<>> queues_;
  std::vector<jobs::Limit> limits_;
  std::optional<std::vector<jobs::WorkerInfo>> workers_;  // those that live
};

/// The job as JSON, with `waitsFor` if something is known to be in its way.
nlohmann::json job_json(const jobs::JobRecord& job, const Waiting* waiting);

}  // namespace tidemark::api
