// The api's routes: jobs, poison messages, schedules, queues, limits, kinds, workers, health, metrics, OpenAPI. A
// handler reads the request, makes one call of the jobs library or a store and renders the outcome; an error is
// rendered by serve(). Handlers of one area are in one file; the table of all is in api_routes.cpp. Thread safe.
#pragma once
#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "common/http/http.h"
#include "common/process/metrics.h"
#include "jobs/callbacks/callback_policy.h"
#include "jobs/limits/limits.h"
#include "jobs/objects/object_access.h"
#include "jobs/poison/poison.h"
#include "jobs/schedules/schedule_store.h"
#include "jobs/store/groups.h"
#include "jobs/store/job_store.h"
#include "jobs/store/worker_list.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::api {

struct ApiOptions {
  std::string token;  // empty: none required
  jobs::CallbackPolicy callbacks;
};

class ApiRoutes {
 public:
  ApiRoutes(ApiOptions options, jobs::JobStore& jobs, jobs::PoisonStore& poison, queue_service::QueueClient& queues,
            table_store::TableClient& tables, process::Metrics& metrics, Clock& clock, jobs::ObjectAccess objects = {})
      : options_(std::move(options)),
        jobs_(jobs),
        poison_(poison),
        queues_(queues),
        tables_(tables),
        metrics_(metrics),
        clock_(clock),
        objects_(std::move(objects)),
        limits_(tables, clock),
        schedules_(tables, clock),
        groups_(tables, clock),
        workers_(tables) {}

  /// The request must outlive the task.
  Task<http::Response> serve(http::Request& request);
  /// Ends the event streams, so that their connections can close.
  void stop() { stopping_->store(true); }

 private:
  using Handler = Task<Result<http::Response>> (ApiRoutes::*)(http::Request&, std::string);
  struct Route;
  static const Route kRoutes[];

  Task<Result<http::Response>> route(http::Request& request);
  // job_routes.cpp
  Task<Result<http::Response>> submit_job(http::Request& request, std::string);
  Task<Result<http::Response>> submit_jobs(http::Request& request, std::string);
  Task<Result<http::Response>> list_jobs(http::Request& request, std::string);
  Task<Result<http::Response>> show_job(http::Request& request, std::string id);
  Task<Result<http::Response>> cancel_job(http::Request& request, std::string id);
  Task<Result<http::Response>> job_events(http::Request& request, std::string id);
  Task<Result<http::Response>> show_group(http::Request& request, std::string id);
  Task<Result<http::Response>> plan(jobs::JobSpec spec);
  // poison_routes.cpp
  Task<Result<http::Response>> list_poison(http::Request& request, std::string);
  Task<Result<http::Response>> group_poison(http::Request& request, std::string);
  Task<Result<http::Response>> show_poison(http::Request& request, std::string id);
  Task<Result<http::Response>> edit_poison(http::Request& request, std::string id);
  Task<Result<http::Response>> plan_poison(http::Request& request, std::string id);
  Task<Result<http::Response>> redrive_poison(http::Request& request, std::string id);
  Task<Result<http::Response>> remove_poison(http::Request& request, std::string id);
  // queue_routes.cpp
  Task<Result<http::Response>> list_queues(http::Request& request, std::string);
  Task<Result<http::Response>> show_queue(http::Request& request, std::string name);
  Task<Result<http::Response>> pause_queue(http::Request& request, std::string name);
  Task<Result<http::Response>> resume_queue(http::Request& request, std::string name);
  Task<Result<http::Response>> set_queue(http::Request& request, std::string name, bool paused);
  // schedule_routes.cpp
  Task<Result<http::Response>> put_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> list_schedules(http::Request& request, std::string);
  Task<Result<http::Response>> show_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> remove_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> pause_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> resume_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> set_schedule(std::string name, bool paused);
  Task<Result<http::Response>> run_schedule(http::Request& request, std::string name);
  Task<Result<http::Response>> answer_schedule(unsigned status, jobs::Schedule schedule);
  Task<Result<nlohmann::json>> show(jobs::Schedule schedule);
  // explain_routes.cpp
  Task<Result<http::Response>> explain(http::Request& request, std::string);
  // limit_routes.cpp
  Task<Result<http::Response>> list_limits(http::Request& request, std::string);
  Task<Result<http::Response>> set_limit(http::Request& request, std::string);
  Task<Result<http::Response>> list_kinds(http::Request& request, std::string);
  Task<Result<http::Response>> set_kind(http::Request& request, std::string kind);
  // operator_routes.cpp
  Task<Result<http::Response>> list_workers(http::Request& request, std::string);
  Task<Result<http::Response>> healthy(http::Request& request, std::string);
  Task<Result<http::Response>> ready(http::Request& request, std::string);
  Task<Result<http::Response>> metrics(http::Request& request, std::string);
  Task<Result<http::Response>> openapi(http::Request& request, std::string);
  /// Whether the callbacks that it asks for are allowed. kJobInvalid.
  [[nodiscard]] Result<void> admit(const jobs::JobSpec& spec) const;
  [[nodiscard]] Result<void> admit(const jobs::JobBatch& batch) const;
  /// The job in a body that was read, if it may be submitted.
  [[nodiscard]] Result<jobs::JobSpec> admitted(const Result<std::string>& body) const;
  [[nodiscard]] Result<void> authorize(const http::Request& request) const;

  ApiOptions options_;
  jobs::JobStore& jobs_;
  jobs::PoisonStore& poison_;
  queue_service::QueueClient& queues_;
  table_store::TableClient& tables_;
  process::Metrics& metrics_;
  Clock& clock_;
  jobs::ObjectAccess objects_;
  jobs::Limits limits_;
  jobs::ScheduleStore schedules_;
  jobs::Groups groups_;
  jobs::WorkerList workers_;
  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
};

/// The OpenAPI 3 description of these routes, as JSON text.
const std::string& openapi_document();

}  // namespace tidemark::api
