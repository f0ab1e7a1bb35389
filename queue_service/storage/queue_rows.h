// The rows of one queue inside one transaction: every change of a message goes through here, so that message row, id
// row, figures and hint stay in step. Lives as long as the transaction body; save() last.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/kv/engine.h"
#include "queue_service/storage/front_hints.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

/// What a transaction means outside of it, once it is committed; begun anew whenever the body is run.
struct Effects {
  struct Arrival {
    std::string account, queue;
    std::optional<Time> due;  // nothing: visible now
  };
  std::vector<Arrival> arrivals;
  std::vector<std::pair<std::string, std::string>> changed;  // queues that were cleared or deleted
  std::vector<std::uint64_t> raised;                         // hints to forget if the commit fails
  bool dropped = false;                                      // a generation awaits collection
};

struct FoundMessage {
  Place place;
  MessageRecord record;
};

struct TakenMessage {
  Message message;
  std::string receipt;
};

struct Taken {
  std::vector<TakenMessage> messages;
  bool more = false;  // stopped by a bound of one call, not by the end
};

Result<std::optional<QueueRecord>> read_queue(const kv::Reader& reader, std::string_view account,
                                              std::string_view queue);
/// kQueueNotFound.
Result<QueueRecord> require_queue(const kv::Reader& reader, std::string_view account, std::string_view queue);
Result<FiguresRecord> read_figures(const kv::Reader& reader, std::uint64_t generation);
Result<std::optional<FoundMessage>> read_message(const kv::Reader& reader, std::uint64_t generation,
                                                 std::string_view id);
Result<std::optional<FoundMessage>> read_place(const kv::Reader& reader, std::uint64_t generation, const Place& place);
/// Writes the queue's row with a fresh generation and its figures; returns the generation.
Result<std::uint64_t> start_generation(kv::Transaction& txn, std::string_view account, std::string_view queue,
                                       QueueRecord record, Time last_immediate);
void drop_generation(kv::Transaction& txn, std::uint64_t generation);

class QueueRows {
 public:
  /// kQueueNotFound.
  static Result<QueueRows> open(kv::Transaction& txn, FrontHints& hints, Effects& effects, std::string account,
                                std::string queue, Time now);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// Visible at `visible_at`, or at once. Returns where it is.
  Place insert(MessageRecord record, std::optional<Time> visible_at);
  /// The same message, changed, at a new place.
  Place rewrite(const FoundMessage& old, std::optional<Time> visible_at);
  void remove(const FoundMessage& found);
  Result<std::optional<FoundMessage>> find(std::string_view id) const;  // expired ones are not found
  Result<FoundMessage> find_by_receipt(std::string_view id, std::string_view receipt) const;
  Result<Taken> take(std::uint32_t count, Duration visibility);
  /// Drops expired messages and raises the hint, without taking anything. True if a bound stopped it.
  Result<bool> tidy();
  void save();

 private:
  struct Walk;
  QueueRows(kv::Transaction& txn, FrontHints& hints, Effects& effects, std::string account, std::string queue, Time now)
      : txn_(&txn),
        hints_(&hints),
        effects_(&effects),
        account_(std::move(account)),
        queue_(std::move(queue)),
        now_(now) {}
  Result<Walk> walk(std::uint32_t count) const;
  void erase_place(const Place& place);
  Place write(MessageRecord& record, std::optional<Time> visible_at);

  kv::Transaction* txn_;
  FrontHints* hints_;
  Effects* effects_;
  std::string account_, queue_;
  Time now_;
  std::uint64_t generation_ = 0;
  FiguresRecord figures_;
};

}  // namespace tidemark::queue_service
