#include "api/rest/render.h"

namespace tidemark::api {
namespace {

// Specs are stored as text; a message of unknown form is shown as the text it is.
nlohmann::json parsed_or_text(const std::string& text) {
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  return parsed.is_discarded() ? nlohmann::json(text) : parsed;
}

std::string dump(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

nlohmann::json to_json(const jobs::JobRecord& job) {
  nlohmann::json out{{"id", job.id},
                     {"kind", job.kind},
                     {"state", jobs::state_name(job.state)},
                     {"spec", parsed_or_text(job.spec)},
                     {"attempts", job.attempts},
                     {"progress", {{"done", job.done}, {"skipped", job.skipped}, {"phase", job.phase}}},
                     {"messageId", job.message_id},
                     {"submittedAt", to_iso8601(job.submitted_at)}};
  if (job.total) out["progress"]["total"] = *job.total;
  if (job.started_at) out["startedAt"] = to_iso8601(*job.started_at);
  if (job.finished_at) out["finishedAt"] = to_iso8601(*job.finished_at);
  if (!job.worker.empty()) out["worker"] = job.worker;
  if (!job.error.empty()) out["error"] = job.error;
  return out;
}

nlohmann::json to_json(const jobs::PoisonRecord& poison) {
  auto attempts = nlohmann::json::array();
  for (const auto& attempt : poison.attempts) attempts.push_back(jobs::to_json(attempt));
  nlohmann::json out{{"id", poison.message_id},
                     {"jobId", poison.job_id},
                     {"kind", poison.kind},
                     {"reason", poison.reason},
                     {"fingerprint", poison.fingerprint},
                     {"queue", poison.queue},
                     {"redrives", poison.redrives},
                     {"body", parsed_or_text(poison.body)},
                     {"attempts", std::move(attempts)}};
  if (poison.moved_at) out["movedAt"] = to_iso8601(*poison.moved_at);
  return out;
}

http::Response json_response(unsigned status, const nlohmann::json& body) {
  http::Response response;
  response.status = status;
  response.set("Content-Type", "application/json");
  response.set("Cache-Control", "no-store");
  response.body = dump(body);
  return response;
}

http::Response problem(const Error& error, const std::string& request_id) {
  const auto status = http_status_of(error.code);
  nlohmann::json body{{"type", "about:blank"},   {"title", default_message_of(error.code)}, {"status", status},
                      {"detail", error.message}, {"code", azure_name_of(error.code)},       {"requestId", request_id}};
  for (const auto& [name, value] : error.fields) {
    if (name == "problem") body["problems"].push_back(value);
  }
  http::Response response;
  response.status = status;
  response.set("Content-Type", "application/problem+json");
  response.set("x-request-id", request_id);
  if (error.code == ErrorCode::kUnauthorized) response.set("WWW-Authenticate", "Bearer");
  response.body = dump(body);
  return response;
}

}  // namespace tidemark::api
