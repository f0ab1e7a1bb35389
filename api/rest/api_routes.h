// The api's routes: jobs, poison messages, health, metrics, OpenAPI. A handler reads the request, makes one call of
// jobs::JobStore or jobs::PoisonStore and renders the outcome.
#pragma once
#include "common/http/http.h"
#include "common/process/metrics.h"
#include "jobs/job_store.h"
#include "jobs/poison.h"

namespace tidemark::api {

struct ApiOptions {
  std::string token;  // empty: none required
};

class ApiRoutes {
 public:
  ApiRoutes(ApiOptions options, jobs::JobStore& jobs, jobs::PoisonStore& poison, table_store::TableClient& tables,
            process::Metrics& metrics)
      : options_(std::move(options)), jobs_(jobs), poison_(poison), tables_(tables), metrics_(metrics) {}

  /// The request must outlive the task.
  Task<http::Response> serve(http::Request& request);

 private:
  Task<http::Response> route(http::Request& request);
  Task<http::Response> submit_job(http::Request& request);
  Task<http::Response> list_jobs(http::Request& request);
  Task<http::Response> show_job(http::Request& request, std::string id);
  Task<http::Response> cancel_job(http::Request& request, std::string id);
  Task<http::Response> list_poison(http::Request& request);
  Task<http::Response> show_poison(http::Request& request, std::string id);
  Task<http::Response> redrive_poison(http::Request& request, std::string id);
  Task<http::Response> remove_poison(http::Request& request, std::string id);
  Task<http::Response> ready(http::Request& request);
  [[nodiscard]] bool authorized(const http::Request& request) const;

  ApiOptions options_;
  jobs::JobStore& jobs_;
  jobs::PoisonStore& poison_;
  table_store::TableClient& tables_;
  process::Metrics& metrics_;
};

/// The OpenAPI 3 description of these routes, as JSON text.
const std::string& openapi_document();

}  // namespace tidemark::api
