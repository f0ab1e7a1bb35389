// The bodies of requests: their greatest size, and reading those that are a JSON object.
#pragma once
#include <nlohmann/json.hpp>

#include "common/base/async.h"
#include "common/http/http.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

inline constexpr std::size_t kMaxBodyBytes = 64UL << 10;
inline constexpr std::size_t kMaxBatchBytes = 4UL << 20;

/// Reads an object; an empty text counts as an empty object. kInvalidInput.
Result<nlohmann::json> json_object_in(std::string_view text);
/// kInvalidInput if anything was wrong or unknown.
Result<void> refuse_problems(jobs::SpecMembers& in);

/// Reads the members that `members()` of T names, and no others. kInvalidInput, with every problem.
template <class T>
Result<T> members_in(std::string_view text) {
  const auto body = TRY(json_object_in(text));
  jobs::SpecMembers in(body);
  T out;
  out.members(in);
  TRY(refuse_problems(in));
  return out;
}
template <class T>
Task<Result<T>> read_members(http::Request& request) {
  const auto text = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  co_return members_in<T>(text);
}

}  // namespace tidemark::api
