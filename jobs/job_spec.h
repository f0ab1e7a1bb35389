// What a job is to do, and its JSON. Pure: no I/O. A submission that is not valid is refused with every problem at
// once: kJobInvalid, one field "problem" per finding, and the message lists them.
//   {"kind":"archive","source":T,"destination":T,"partitionKey":P,"rowKey":R}      one entity
//   {"kind":"archive","source":T,"destination":T,"filter":F}                       all that match; "" is every entity
//   {"kind":"index","source":T,"property":NAME,"destination":T}
//   optional in each: "maxAttempts" (1..100), "idempotencyKey" (1..256 characters)
// A message on the queue is the same with "jobId" added; a message written by any SDK may leave it out.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/base/error.h"

namespace tidemark::jobs {

inline constexpr std::uint32_t kDefaultMaxAttempts = 5;
inline constexpr std::uint32_t kMaxAttemptsLimit = 100;
inline constexpr std::size_t kMaxIdempotencyKeyLength = 256;
/// A submission fits into a queue message (64 KiB) with its job id, and into a property of the record.
inline constexpr std::size_t kMaxSpecBytes = 30'000;

struct EntityKey {
  std::string partition_key;
  std::string row_key;
  bool operator==(const EntityKey&) const = default;
};

/// Exactly one of `entity` and `filter` is set.
struct ArchiveSpec {
  std::string source;
  std::string destination;
  std::optional<EntityKey> entity;
  std::optional<std::string> filter;
  bool operator==(const ArchiveSpec&) const = default;
};

struct IndexSpec {
  std::string source;
  std::string property;
  std::string destination;
  bool operator==(const IndexSpec&) const = default;
};

struct JobSpec {
  std::variant<ArchiveSpec, IndexSpec> work;
  std::uint32_t max_attempts = kDefaultMaxAttempts;
  std::string idempotency_key;  // empty: none
  bool operator==(const JobSpec&) const = default;
};

/// "archive" or "index".
std::string_view kind_name(const JobSpec& spec);

/// Reads and validates a submission. kJobInvalid.
Result<JobSpec> parse_job_spec(std::string_view json_text);
Result<JobSpec> job_spec_from_json(const nlohmann::json& json);
nlohmann::json to_json(const JobSpec& spec);
/// The one text of a spec: members in a fixed order, defaults filled in.
std::string canonical_text(const JobSpec& spec);
/// SHA-256 in hex of the canonical text without the idempotency key.
std::string spec_fingerprint(const JobSpec& spec);

struct JobMessage {
  std::string job_id;  // empty if the message has none
  JobSpec spec;
};
std::string job_message_text(std::string_view job_id, const JobSpec& spec);
/// Accepts the JSON as it is and in Base64, as some SDKs write it. kJobInvalid.
Result<JobMessage> parse_job_message(std::string_view text);

/// 3..63 letters and digits, a letter first.
bool is_table_name(std::string_view name);

}  // namespace tidemark::jobs
