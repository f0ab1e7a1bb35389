// The bodies of requests: their greatest size, and reading those that are a JSON object.
#pragma once
#include <nlohmann/json.hpp>

#include "common/base/async.h"
#include "common/http/http.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

inline constexpr std::size_t kMaxBodyBytes = 64UL << 10;
inline constexpr std::size_t kMaxBatchBytes = 4UL << 20;

/// Reads an object; an empty body counts as an empty object. kInvalidInput.
Task<Result<nlohmann::json>> read_json_object(http::Request& request);
/// kInvalidInput if anything was wrong or unknown.
Result<void> refuse_problems(jobs::SpecMembers& in);

}  // namespace tidemark::api
