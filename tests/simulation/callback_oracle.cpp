#include "tests/simulation/callback_oracle.h"

#include <nlohmann/json.hpp>

#include "jobs/store/endings.h"

namespace tidemark::simulation {
namespace {

using nlohmann::json;

/// Returns the subject of a callback's body: "job ID", "group ID", or nothing if the product did not make the body.
std::string subject_of(const json& body) {
  if (!body.is_object() || !body.contains("type") || !body.contains("data")) return {};
  const auto type = body.value("type", std::string());
  const auto id = body["data"].value("id", std::string());
  return (type == "group.ended" ? "group " : "job ") + id;
}

json body_of(const jobs::JobSpec& spec) {
  const auto* callback = std::get_if<jobs::CallbackSpec>(&spec.work);
  return callback != nullptr && callback->body ? json::parse(*callback->body, nullptr, false) : json();
}

/// Counts the members of a group that have ended, by their state.
std::map<std::string, std::uint64_t> ends_of_members(const TableOracle& tables, const std::string& group) {
  std::map<std::string, std::uint64_t> states;
  for (const auto& [id, job] : tables.jobs()) {
    if (!jobs::is_terminal(job.state)) continue;
    const auto spec = jobs::parse_stored_spec(job.spec);
    if (spec && spec->group && spec->group->id == group) ++states[std::string(jobs::state_name(job.state))];
  }
  return states;
}

}  // namespace

void CallbackOracle::arrived(const std::string& webhook_id, const std::string& body) {
  ++deliveries_;
  const auto [known, fresh] = told_.try_emplace(webhook_id, Told{body});
  if (!fresh && known->second.body != body) violated("E1: callback " + webhook_id + " came again with another body");
  const auto parsed = json::parse(body, nullptr, false);
  const auto subject = subject_of(parsed);
  if (subject.empty()) return;
  const auto& data = parsed["data"];
  if (subject.starts_with("job ")) return check_job_told(webhook_id, data["id"], data.value("state", std::string()));
  std::map<std::string, std::uint64_t> states;
  for (const auto* name : {"succeeded", "poisoned", "cancelled", "queued", "running"}) {
    if (data.contains(name) && data[name] != 0) states[name] = data[name];
  }
  check_group_told(data["id"], states);
}

void CallbackOracle::check_job_told(const std::string& webhook_id, const std::string& job_id,
                                    const std::string& state) {
  const auto job = tables_.jobs().find(job_id);
  if (job == tables_.jobs().end()) return violated("E2: the end of job " + job_id + ", which is not, was told");
  const auto is = std::string(jobs::state_name(job->second.state));
  if (is != state) violated("E2: job " + job_id + " was told to be " + state + " and is " + is);
  if (jobs::ending_job_id(job->second) != webhook_id) violated("E1: the end of job " + job_id + " has several ids");
}

void CallbackOracle::check_group_told(const std::string& group, const std::map<std::string, std::uint64_t>& states) {
  if (ends_of_members(tables_, group) != states) {
    violated("E2: group " + group + " was told to have ended otherwise than it has");
  }
}

void CallbackOracle::answered(const std::string& webhook_id, unsigned status) {
  auto& told = told_[webhook_id];
  told.taken = told.taken || status / 100 == 2;
  told.refused = told.refused || status == 410;
}

void CallbackOracle::check_callback(const jobs::JobRecord& callback) {
  const auto told = told_.find(callback.id);
  const bool taken = told != told_.end() && told->second.taken;
  if (callback.state == jobs::JobState::kSucceeded && !taken) {
    violated("E3: callback " + callback.id + " succeeded, and the endpoint has not taken it");
  }
  const auto spec = jobs::parse_stored_spec(callback.spec);
  const bool refused = told != told_.end() && told->second.refused;
  const bool tried = spec && callback.attempts >= spec->max_attempts;
  if (callback.state == jobs::JobState::kPoisoned && !refused && !tried) {
    violated("E3: callback " + callback.id + " was given up after " + std::to_string(callback.attempts) + " attempts");
  }
}

void CallbackOracle::check_quiet(const std::set<std::string>& groups) {
  std::map<std::string, std::uint64_t> callbacks;  // by the subject of their body
  for (const auto& [id, job] : tables_.jobs()) {
    if (job.kind != "callback") continue;
    check_callback(job);
    const auto spec = jobs::parse_stored_spec(job.spec);
    const auto subject = spec ? subject_of(body_of(*spec)) : std::string();
    if (!subject.empty()) ++callbacks[subject];
  }
  std::set<std::string> wanted;
  for (const auto& group : groups) wanted.insert("group " + group);
  for (const auto& [id, job] : tables_.jobs()) {
    const auto spec = jobs::parse_stored_spec(job.spec);
    if (spec && spec->on_end) wanted.insert("job " + id);
  }
  for (const auto& subject : wanted) {
    const auto count = callbacks[subject];
    if (count == 0) violated("E3: the end of " + subject + " is told by no callback");
    if (count > 1) violated("E1: the end of " + subject + " is told by " + std::to_string(count) + " callbacks");
  }
  if (callbacks.size() > wanted.size()) violated("E2: an end was told that nobody wanted to hear of");
}

}  // namespace tidemark::simulation
