// The api's JSON: jobs, poison messages and problems (RFC 9457, application/problem+json).
#pragma once
#include <nlohmann/json.hpp>

#include "common/http/http.h"
#include "jobs/job_record.h"
#include "jobs/poison.h"

namespace tidemark::api {

nlohmann::json to_json(const jobs::JobRecord& job);
nlohmann::json to_json(const jobs::PoisonRecord& poison);
http::Response json_response(unsigned status, const nlohmann::json& body);
/// {"type","title","status","detail","code","requestId","problems"?}
http::Response problem(const Error& error, const std::string& request_id);

}  // namespace tidemark::api
