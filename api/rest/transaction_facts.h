// How far a transaction has come: whether it was decided, what its guards have read, and how many of its steps were
// taken. This is known from the ledgers of the stores, which the steps themselves write.
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/async.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/job_record.h"

namespace tidemark::api {

struct Api;

struct TransactionFacts {
  std::string decision;     // open, goesAhead or withdrawn
  std::uint64_t taken = 0;  // the first so many steps were taken
  nlohmann::json read;      // {"guard":{"Property":value}}, or null
  void members(jobs::SpecMembers& to) const;
};

/// Returns nothing for jobs of other kinds, or while the stores cannot tell.
Task<std::optional<TransactionFacts>> transaction_facts(Api& api, const jobs::JobRecord& job);

}  // namespace tidemark::api
