// Poison messages: jobs that were given up, with everything needed to understand and to send them back. The message
// keeps its id and text in queue tidemark-jobs-poison; the story is in its annotation:
//   {"jobId":I,"reason":R,"fingerprint":F,"queue":Q,"movedAt":T,"redrives":N,"editedEpoch":N,"attempts":[...]}
// Its attempts (attempt.h) are those of all rounds, with marks where it was edited or sent back.
// The fingerprint names the kind of failure, so that like failures can be counted and sent back together.
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
  std::optional<std::string> original;  // what it was before somebody edited it for the first time; the queue keeps it
  std::string reason;
  std::string fingerprint;
  std::string queue;  // where it came from
  std::vector<Attempt> attempts;
  std::optional<Time> moved_at;
  std::uint32_t redrives = 0;      // how often it was sent back before
  std::uint64_t edited_epoch = 0;  // the last delivery before the text was edited; 0: it never was
  std::uint64_t epoch = 0;
  std::string etag;  // of the message as it is (queue_service/model/message.h)
};

/// What its story says of itself.
inline constexpr std::tuple kPoisonFields{Field{"jobId", &PoisonRecord::job_id},
                                          Field{"reason", &PoisonRecord::reason},
                                          Field{"fingerprint", &PoisonRecord::fingerprint},
                                          Field{"queue", &PoisonRecord::queue},
                                          Field{"redrives", &PoisonRecord::redrives},
                                          Field{"editedEpoch", &PoisonRecord::edited_epoch, kSparse},
                                          Field{"movedAt", &PoisonRecord::moved_at}};

/// Poison messages of one kind of failure.
struct PoisonGroup {
  std::string fingerprint;
  std::string kind;
  std::string source;
  std::uint64_t count = 0;
  std::string reason;  // of one of them
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
  std::uint64_t searched = 0;  // messages that were looked at for the page
};

struct PoisonCount {
  std::uint64_t count = 0;
  bool complete = true;  // false: there are more than kMaxGroupedMessages messages
};

std::string poison_annotation(const PoisonRecord& record);
/// Never fails: a message that a person put there by hand has an empty story.
PoisonRecord poison_record_of(const queue_service::Message& message);
/// kind + code + the message with its digits and quoted parts taken out + the tables that the job names, hashed to 16
/// hex digits.
std::string error_fingerprint(std::string_view kind, std::string_view code, std::string_view message,
                              const std::vector<std::string>& tables = {});

bool matches(const PoisonFilter& filter, const PoisonRecord& record);

class PoisonStore {
 public:
  PoisonStore(JobStore& jobs, queue_service::QueueClient& queues) : jobs_(jobs), queues_(queues) {}

  /// Those that match. A page may be shorter than `limit`, even empty, and still have a continuation.
  Task<Result<PoisonPage>> list(std::uint32_t limit, std::string continuation, PoisonFilter which = {});
  /// Those that match, counted by fingerprint, the most frequent first.
  Task<Result<PoisonGroups>> groups(PoisonFilter which);
  /// Here and below `id` is the message's, or that of its job. kPoisonNotFound. With an epoch, only the message as it
  /// was then, not one that was sent back and has failed again.
  Task<Result<PoisonRecord>> find(std::string id, std::optional<std::uint64_t> epoch = {});
  /// Sends the message back to the jobs queue with the same id and its attempts reset, with another spec if one is
  /// given. `by`: who does it, for the history. kPoisonNotFound. Here and in edit(): with `seen`, only a message that
  /// still has this ETag, since somebody else may have edited it meanwhile (kConditionNotMet).
  Task<Result<PoisonRecord>> redrive(std::string id, std::optional<JobSpec> edited, std::string by,
                                     std::optional<std::uint64_t> epoch = {}, std::string seen = {});
  /// Keeps the message where it is, with another spec. kPoisonNotFound.
  Task<Result<PoisonRecord>> edit(std::string id, JobSpec edited, std::string by, std::string seen = {});
  /// Forgets the message; the job's record stays poisoned. kPoisonNotFound.
  Task<Result<void>> remove(std::string id, std::optional<std::uint64_t> epoch = {});

  // The same for a job over many messages, which may be those of a queue of people's own: of them, there is the
  // message, and a note if the queue moved it itself.

  /// As list(). What has no other time became poison when it was put.
  Task<Result<PoisonPage>> select(std::uint32_t limit, std::string continuation, PoisonSelection which);
  Task<Result<PoisonCount>> count(PoisonSelection which);
  /// Sends a message of such a queue back to it, to be taken anew; with another text if one is given. kPoisonNotFound.
  Task<Result<void>> send_back(std::string queue, std::string id, std::optional<std::string> text,
                               std::optional<std::uint64_t> epoch, std::string seen = {});
  /// Forgets it. kPoisonNotFound.
  Task<Result<void>> remove_from(std::string queue, std::string id, std::optional<std::uint64_t> epoch = {});

 private:
  Task<Result<queue_service::Message>> message_of(std::string id, std::optional<std::uint64_t> epoch = {});
  /// Of the message as it was read, or kConditionNotMet.
  Task<Result<PoisonRecord>> redrive_as_read(PoisonRecord poison, std::optional<JobSpec> edited, std::string by);
  Task<Result<PoisonRecord>> edit_as_read(PoisonRecord poison, JobSpec edited, std::string by);
  /// That of a selection; nothing if it is not there.
  Task<Result<std::optional<PoisonRecord>>> named(std::string queue, std::string id);
  /// Its text from now on. If that asks for something else, the job is another operation, and its history tells what
  /// was done before.
  Task<Result<std::string>> replace_text(PoisonRecord& poison, JobSpec& edited, std::string by);
  JobStore& jobs_;
  queue_service::QueueClient& queues_;
};

}  // namespace tidemark::jobs
