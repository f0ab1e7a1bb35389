// The api's JSON: jobs, poison messages, queues and problems (RFC 9457, application/problem+json).
#pragma once
#include <nlohmann/json.hpp>

#include "api/explain/explain.h"
#include "api/rest/transaction_facts.h"
#include "common/http/http.h"
#include "jobs/plan/plan.h"
#include "jobs/poison/poison_summary.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/endings.h"
#include "jobs/store/job_record.h"
#include "jobs/store/job_store.h"
#include "jobs/store/worker_list.h"
#include "queue_service/model/queue_figures.h"

namespace tidemark::api {

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Wait;
/// `waiting`: why it does not run yet (waits.h).
nlohmann::json job_json(const jobs::JobRecord& job, std::optional<Wait> waiting,
                        std::optional<TransactionFacts> transaction = {});
nlohmann::json job_json(const jobs::JobRecord& job);
inline constexpr jobs::About kAboutOriginalText{
    .meaning =
        "text of a message before its first edit; it stays with the message, also when that is sent back and fails "
        "again"};
nlohmann::json to_json(const jobs::GroupStatus& status);
nlohmann::json to_json(const jobs::PoisonRecord& poison);
nlohmann::json to_json(const jobs::SummedGroup& summed);
nlohmann::json to_json(const jobs::JobPlan& plan);
nlohmann::json to_json(const jobs::WorkerInfo& worker, bool alive);
nlohmann::json to_json(const jobs::Explanation& explanation);
/// Renders the name and the figures.
nlohmann::json to_json(const std::pair<std::string, queue_service::QueueFigures>& queue);
/// Text that is no UTF-8 is shown with replacement characters.
std::string json_text(const nlohmann::json& body);
http::Response json_response(unsigned status, const nlohmann::json& body);
http::Response no_content();
/// Renders the job's record, and its address.
http::Response submitted(const jobs::Submission& submission);
nlohmann::json problem_json(const Error& error, const std::string& request_id);
/// Renders {"type","title","status","detail","code","requestId","problems"?}.
http::Response problem(const Error& error, const std::string& request_id);

/// Returns the JSON that `shown.members()` writes.
template <class T>
nlohmann::json json_of(T shown) {
  return jobs::members_json(std::move(shown));
}
/// Wraps each item, to be shown by the members of `Shown`.
template <class Shown, class Item>
std::vector<Shown> shown_all(const std::vector<Item>& items) {
  std::vector<Shown> out;
  out.reserve(items.size());
  for (const auto& item : items) out.push_back(Shown{item});
  return out;
}

inline constexpr auto kAsJson = [](const auto& item) { return to_json(item); };
/// Renders each item by `show`.
template <class Items, class Show = decltype(kAsJson)>
nlohmann::json list_json(const Items& items, Show show = kAsJson) {
  auto list = nlohmann::json::array();
  for (const auto& item : items) list.push_back(show(item));
  return list;
}

/// Renders {MEMBER:[...],"continuation"?,"searched"?}; `searched`: how many items were looked at, where not all of them
/// match.
template <class Items, class Show = decltype(kAsJson)>
http::Response page_response(const char* member, const Items& items, const std::string& continuation,
                             Show show = kAsJson, std::optional<std::uint64_t> searched = {}) {
  nlohmann::json body{{member, list_json(items, show)}};
  if (searched) body["searched"] = *searched;
  if (!continuation.empty()) body["continuation"] = continuation;
  return json_response(200, body);
}

}  // namespace tidemark::api
