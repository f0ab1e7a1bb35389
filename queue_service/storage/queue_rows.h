// The rows of one queue within one transaction. Every change of a message goes through here, so that the message's row,
// its id row, its group and the figures stay consistent. It lives as long as the transaction's body. Call save() at the
// end, and before another QueueRows of the same queue is opened.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/kv/engine.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/model/queue_parts.h"
#include "queue_service/storage/placed_rows.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

/// The most expired messages that one change passes over; the others expire once they reach the front.
inline constexpr std::size_t kMaxExpiredPassed = 256;

/// The time of a transaction: by the wall clock, and by the clock that decides about expiry
/// (common/kv/age_clock.h).
struct Moment {
  Time now;
  Time age;
};

/// The effects that a transaction has once it is committed. Empty at the start of each run of the body.
struct Effects {
  struct Arrival {
    std::string account, queue;  // the whole queue, if the message is in a part
    std::optional<Time> due;     // nothing if it is visible now
  };
  std::vector<Arrival> arrivals;
  std::vector<std::pair<std::string, std::string>> changed;  // cleared, deleted, or resumed
  bool dropped = false;                                      // a generation awaits collection
};

struct FoundMessage {
  Set set = Set::kReady;
  Place place;
  bool was_leased = false;  // as stored
  MessageRecord record;
};

struct TakenMessage {
  Message message;
  std::string receipt;
};

struct Taken {
  std::vector<TakenMessage> messages;
  bool more = false;  // something was removed or a bound was reached: try again if nothing was taken
};

struct TakeRequest {
  std::uint32_t count = 1;
  Duration visibility{};
  bool offer = false;  // see MessageRecord::offered
  bool lease = false;  // the holder will use id and epoch, not only the receipt
  /// The option of a spread queue, for its parts, which have no options of their own.
  std::optional<std::uint32_t> max_dequeue_count = {};
  KeyLimits limits = {};
};

Result<std::optional<QueueRecord>> read_queue(const kv::Reader& reader, std::string_view account,
                                              std::string_view queue);
/// kQueueNotFound, or the error of check_queue_name() for a name that no queue and no part can have.
Result<QueueRecord> require_queue(const kv::Reader& reader, std::string_view account, std::string_view queue);
Result<FiguresRecord> read_figures(const kv::Reader& reader, std::uint64_t generation);
/// Reads a listed message.
Result<std::optional<FoundMessage>> read_message(const kv::Reader& reader, std::uint64_t generation,
                                                 std::string_view id);
/// Reads a message by its name, expired or not.
Result<std::optional<FoundMessage>> read_named(const kv::Reader& reader, std::uint64_t generation,
                                               const MessageName& name);
Result<std::optional<FoundMessage>> read_place(const kv::Reader& reader, std::uint64_t generation, Set set,
                                               const Place& place);
/// Returns the place of the first timed message that is visible at `until` or before.
Result<std::optional<Place>> first_timed(const kv::Reader& reader, std::uint64_t generation,
                                         const FiguresRecord& figures, Time until);
/// Returns a number that this shard has not given out yet.
Result<std::uint64_t> next_generation(kv::Transaction& txn);
/// Writes the queue's row with a new generation, and its figures; returns the generation.
Result<std::uint64_t> start_generation(kv::Transaction& txn, std::string_view account, std::string_view queue,
                                       QueueRecord record, Time last_immediate);

class QueueRows {
 public:
  /// kQueueNotFound.
  static Result<QueueRows> open(kv::Transaction& txn, Effects& effects, std::string account, std::string queue,
                                Moment at);
  /// The same, but creates the queue if necessary; never creates a part.
  static Result<QueueRows> open_or_create(kv::Transaction& txn, Effects& effects, std::string account,
                                          std::string queue, Moment at);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool has_expired(Time expires) const { return expires <= age_; }
  /// Tells whether the queue is spread, so that its messages belong in its parts.
  [[nodiscard]] bool is_spread() const { return options_.parts > 1; }
  /// Returns the receipt of a message at this place.
  [[nodiscard]] std::string receipt_of(const Place& place) const;
  [[nodiscard]] kv::Transaction& transaction() { return *txn_; }
  FiguresRecord& figures() { return figures_; }
  /// Inserts a message that is visible at `visible_at`, or at once, after the others of its group. Returns its place.
  Result<Place> insert(MessageRecord record, std::optional<Time> visible_at);
  /// Stores the changed message at a new place.
  Result<Place> rewrite(const FoundMessage& old, std::optional<Time> visible_at);
  /// Removes a message and lets the next of its group follow.
  Result<void> remove(const FoundMessage& found);
  /// Makes up to `limit` due messages of the timed set ready, at the same places. True if there are more.
  Result<bool> settle(std::size_t limit);
  Result<std::optional<FoundMessage>> find(std::string_view id) const;  // finds listed messages that have not expired
  Result<FoundMessage> find_by_receipt(std::string_view id, std::string_view receipt) const;
  Result<Taken> take(const TakeRequest& request);
  /// Removes expired messages at the front and raises the fronts. True if there is more to do.
  Result<bool> tidy();
  void save();

 private:
  struct Walk;
  QueueRows(kv::Transaction& txn, Effects& effects, std::string account, std::string queue, Moment at)
      : txn_(&txn),
        effects_(&effects),
        account_(std::move(account)),
        queue_(std::move(queue)),
        now_(at.now),
        age_(at.age) {}
  [[nodiscard]] Result<Walk> walk(std::uint32_t count) const;
  Result<void> raise_fronts(const Walk& walk, bool search);
  Result<void> drop_expired(const Walk& walk);
  Result<void> poison(std::vector<FoundMessage> failed);
  /// Gives out a message that was removed from its set.
  void deliver(MessageRecord record, const TakeRequest& request, Taken& taken);
  [[nodiscard]] bool is_poison(const MessageRecord& record, std::uint32_t max_dequeue_count) const;
  void erase_row(const FoundMessage& found);
  Place next_place(std::optional<Time> visible_at);
  Place write(MessageRecord& record, std::optional<Time> visible_at);
  void write_at(const MessageRecord& record, Set set, const Place& place);
  Result<std::optional<GroupRecord>> read_group(const std::string& group) const;
  void save_group(const std::string& group, const GroupRecord& record);
  Result<Place> join_group(MessageRecord record, std::optional<Time> visible_at);
  Result<void> leave_group(const FoundMessage& found);

  // Turns (queue_turns.cpp). A tenant is in `tenants` while its head is gone and the next one has not been found.
  Result<TurnKeyRecord> read_turn_key(const std::string& key) const;
  void save_turn_key(const std::string& key, const TurnKeyRecord& record);
  Result<std::optional<TenantRecord>> read_tenant(const std::string& tenant) const;
  void save_tenant(const std::string& tenant, const TenantRecord& record);
  Result<Place> join_turns(MessageRecord record, std::optional<Time> visible_at);
  Place become_head(MessageRecord record, const TenantRecord& tenant);
  Result<Place> wait_for_turn(MessageRecord record, TenantRecord tenant, TurnKeyRecord key, const Place& place,
                              bool gets_turn);
  void give_turn(const std::string& key, TurnKeyRecord& state, TenantRecord& tenant);
  void end_turn(const std::string& key, TurnKeyRecord& state, TenantRecord& tenant);
  Result<MessageRecord> take_waiting(const std::string& key, TurnKeyRecord& state);
  Result<std::optional<MessageRecord>> next_in_turn(const std::string& tenant, TenantRecord& state,
                                                    const KeyLimits& limits);
  Result<void> promote(const std::string& tenant, TenantRecord state, const KeyLimits& limits);
  Result<void> leave_turns(const FoundMessage& found);
  Result<void> end_run(MessageRecord& record);
  Result<void> begin_run(MessageRecord& record, const KeyLimits& limits);
  /// Takes a visible message that takes turns, or lets it wait; then `taken.more` is set.
  Result<void> take_turn(FoundMessage found, const TakeRequest& request, Taken& taken,
                         std::deque<std::string>& tenants);
  /// Takes further messages of these tenants in turn, and finds their next heads.
  Result<void> go_on_in_turn(const TakeRequest& request, Taken& taken, std::deque<std::string> tenants);

  kv::Transaction* txn_;
  Effects* effects_;
  std::string account_, queue_;
  std::optional<QueuePart> part_;  // if the queue is a part
  Time now_, age_;
  QueueOptions options_;
  std::uint64_t generation_ = 0;
  FiguresRecord figures_, stored_figures_;
};

}  // namespace tidemark::queue_service
