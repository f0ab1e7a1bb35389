// Poison messages: jobs that were given up, with everything needed to understand and to send them back. The message
// keeps its id and text in queue tidemark-jobs-poison; the story is in its annotation:
//   {"jobId":I,"reason":R,"fingerprint":F,"queue":Q,"movedAt":T,"redrives":N,"attempts":[
//      {"number":N,"worker":W,"startedAt":T,"durationMs":N,"errorClass":C,"code":NAME,"message":M}, ...]}
// The fingerprint names the kind of failure, so that like failures can be counted and sent back together.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_store.h"

namespace tidemark::jobs {

/// The newest attempts are kept; messages are cut. A message's annotation stays under about 100 KiB.
inline constexpr std::size_t kMaxKeptAttempts = 100;
inline constexpr std::size_t kMaxKeptErrorBytes = 800;

struct Attempt {
  std::uint32_t number = 0;
  std::string worker;
  Time started_at{};
  std::int64_t duration_ms = 0;
  std::string error_class;  // "transient", "throttled", "conflict", "permanent"
  std::string code;         // the error's name
  std::string message;
};

struct PoisonRecord {
  std::string message_id;
  std::string job_id;
  std::string kind;  // from the text; "unknown" if it cannot be read
  std::string body;  // the message's text
  std::string reason;
  std::string fingerprint;
  std::string queue;  // where it came from
  std::vector<Attempt> attempts;
  std::optional<Time> moved_at;
  std::uint32_t redrives = 0;  // how often it was sent back before
  std::uint64_t epoch = 0;
};

struct PoisonPage {
  std::vector<PoisonRecord> records;
  std::string continuation;
};

nlohmann::json to_json(const Attempt& attempt);
/// Tolerant: absent or odd members are left at their defaults.
Attempt attempt_from_json(const nlohmann::json& json);
std::string poison_annotation(const PoisonRecord& record);
/// Never fails: a message that a person put there by hand has an empty story.
PoisonRecord poison_record_of(const queue_service::Message& message);
/// kind + code + the message with its digits and quoted parts taken out, hashed to 16 hex digits.
std::string error_fingerprint(std::string_view kind, std::string_view code, std::string_view message);

class PoisonStore {
 public:
  PoisonStore(JobStore& jobs, queue_service::QueueClient& queues) : jobs_(jobs), queues_(queues) {}

  Task<Result<PoisonPage>> list(std::uint32_t limit, std::string continuation);
  /// By message id. kPoisonNotFound.
  Task<Result<PoisonRecord>> find(std::string message_id);
  /// Sends the message back to the jobs queue with the same id and its attempts reset, with another spec if one is
  /// given. kPoisonNotFound.
  Task<Result<PoisonRecord>> redrive(std::string message_id, std::optional<JobSpec> edited);
  /// Forgets the message; the job's record stays poisoned. kPoisonNotFound.
  Task<Result<void>> remove(std::string message_id);

 private:
  JobStore& jobs_;
  queue_service::QueueClient& queues_;
};

}  // namespace tidemark::jobs
