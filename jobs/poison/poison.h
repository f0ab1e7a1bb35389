// Poison messages: jobs that were given up, with everything that is needed to understand them and to send them back.
// The message keeps its id and text in queue tidemark-jobs-poison; its history is in its annotation:
//   {"jobId":I,"reason":R,"fingerprint":F,"queue":Q,"movedAt":T,"redrives":N,"editedEpoch":N,"attempts":[...]}
// Its attempts (attempt.h) are those of all rounds, with marks where it was edited or sent back. The fingerprint names
// the kind of failure, so that equal failures can be counted and sent back together.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/poison/poison_selection.h"
#include "jobs/store/attempt.h"
#include "jobs/store/fields.h"
#include "jobs/store/job_store.h"

namespace tidemark::jobs {

struct PoisonRecord {
  std::string message_id;
  std::string job_id;
  std::string source;                   // the table that the job reads, from the text; empty if it reads none
  std::string kind;                     // from the text; "unknown" if it cannot be read
  std::string body;                     // the message's text
  std::optional<std::string> original;  // the text before the first edit; the queue keeps it
  std::string reason;
  std::string fingerprint;
  std::string queue;  // the queue that it came from
  std::vector<Attempt> attempts;
  std::optional<Time> moved_at;
  std::uint32_t redrives = 0;      // how often it was sent back before
  std::uint64_t edited_epoch = 0;  // the last delivery before the text was edited; 0: it never was
  std::uint64_t epoch = 0;
  std::string etag;  // the current ETag of the message (queue_service/model/message.h)
};

/// The fields of its annotation.
inline constexpr std::tuple kPoisonFields{Field{"jobId", &PoisonRecord::job_id},
                                          Field{"reason", &PoisonRecord::reason},
                                          Field{"fingerprint", &PoisonRecord::fingerprint},
                                          Field{"queue", &PoisonRecord::queue},
                                          Field{"redrives", &PoisonRecord::redrives},
                                          Field{"editedEpoch", &PoisonRecord::edited_epoch, kSparse},
                                          Field{"movedAt", &PoisonRecord::moved_at}};

/// Poison messages with the same kind of failure.
struct PoisonGroup {
  std::string fingerprint;
  std::string kind;
  std::string source;
  std::uint64_t count = 0;
  std::string reason;  // the reason of one of them
  std::optional<Time> first_moved_at;
  std::optional<Time> last_moved_at;
  std::vector<std::string> samples;  // message ids
};

struct PoisonGroups {
  std::vector<PoisonGroup> groups;
  bool complete = true;  // false: there are more than kMaxGroupedMessages messages
};
inline constexpr std::uint64_t kMaxGroupedMessages = 100'000;

struct PoisonPage {
  std::vector<PoisonRecord> records;
  std::string continuation;
  std::uint64_t searched = 0;  // the messages that were looked at for the page
};

struct PoisonCount {
  std::uint64_t count = 0;
  bool complete = true;  // false: there are more than kMaxGroupedMessages messages
};

std::string poison_annotation(const PoisonRecord& record);
/// Never fails: a message that a person put there by hand has an empty history.
PoisonRecord poison_record_of(const queue_service::Message& message);
/// Returns the hash of kind, code, the message without its digits and quoted parts, and the tables that the job names,
/// as 16 hex digits.
std::string error_fingerprint(std::string_view kind, std::string_view code, std::string_view message,
                              const std::vector<std::string>& tables = {});

bool matches(const PoisonFilter& filter, const PoisonRecord& record);

class PoisonStore {
 public:
  PoisonStore(JobStore& jobs, queue_service::QueueClient& queues) : jobs_(jobs), queues_(queues) {}

  /// Lists the matching messages. A page may be shorter than `limit`, even empty, and still have a continuation.
  Task<Result<PoisonPage>> list(std::uint32_t limit, std::string continuation, PoisonFilter which = {}) {
    return list_any(limit, std::move(continuation), {std::move(which)});
  }
  /// Lists in the same way the messages that match one of the filters.
  Task<Result<PoisonPage>> list_any(std::uint32_t limit, std::string continuation, std::vector<PoisonFilter> which);
  /// Counts the matching messages by fingerprint, the most frequent first.
  Task<Result<PoisonGroups>> groups(PoisonFilter which);
  /// Here and below `id` is that of the message or of its job. kPoisonNotFound. With an epoch, finds only the message
  /// as it was then, not one that was sent back and has failed again.
  Task<Result<PoisonRecord>> find(std::string id, std::optional<std::uint64_t> epoch = {});
  /// Sends the message back to the jobs queue with the same id and its attempts reset, with another spec if one is
  /// given. `by`: the person or job that does it, for the history. kPoisonNotFound. Here and in edit(): with `seen`,
  /// only a message that still has this ETag, since it may have been edited meanwhile (kConditionNotMet).
  Task<Result<PoisonRecord>> redrive(std::string id, std::optional<JobSpec> edited, std::string by,
                                     std::optional<std::uint64_t> epoch = {}, std::string seen = {});
  /// Gives the message another spec and leaves it where it is. kPoisonNotFound.
  Task<Result<PoisonRecord>> edit(std::string id, JobSpec edited, std::string by, std::string seen = {});
  /// Removes the message; the job's record stays poisoned. kPoisonNotFound.
  Task<Result<void>> remove(std::string id, std::optional<std::uint64_t> epoch = {});

  // The same for a job that handles many messages, which may be in a queue that belongs to users. Such messages have
  // only their text, and a note if the queue itself moved them.

  /// Like list(). A message without another time counts as poison since it was put.
  Task<Result<PoisonPage>> select(std::uint32_t limit, std::string continuation, PoisonSelection which);
  Task<Result<PoisonCount>> count(PoisonSelection which);
  /// Sends a message of such a queue back to it, to be taken anew; with another text if one is given. kPoisonNotFound.
  Task<Result<void>> send_back(std::string queue, std::string id, std::optional<std::string> text,
                               std::optional<std::uint64_t> epoch, std::string seen = {});
  /// Removes the message. kPoisonNotFound.
  Task<Result<void>> remove_from(std::string queue, std::string id, std::optional<std::uint64_t> epoch = {});

 private:
  Task<Result<queue_service::Message>> message_of(std::string id, std::optional<std::uint64_t> epoch = {});
  /// Applies to the message as it was read, or fails with kConditionNotMet.
  Task<Result<PoisonRecord>> redrive_as_read(PoisonRecord poison, std::optional<JobSpec> edited, std::string by);
  Task<Result<PoisonRecord>> edit_as_read(PoisonRecord poison, JobSpec edited, std::string by);
  /// Returns the selected message; nothing if it does not exist.
  Task<Result<std::optional<PoisonRecord>>> named(std::string queue, std::string id);
  /// Prepares a new text. If it asks for other work, the job becomes another operation, and its history tells how much
  /// it had done before.
  Task<Result<std::string>> replace_text(PoisonRecord& poison, JobSpec& edited, std::string by);
  JobStore& jobs_;
  queue_service::QueueClient& queues_;
};

}  // namespace tidemark::jobs
