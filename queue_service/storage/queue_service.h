// The operations of the queue service, for both faces (rest/ and internal/). All rules of the domain are here, in
// model/ or in queue_rows. Queues are divided over shards: an operation on one queue and its poison queue is one
// transaction of their shard; a message that leaves the shard travels (storage/carriers.h). A spread queue has parts on
// several shards, whose messages are found under its name; a call that names a part (model/queue_parts.h) concerns that
// part alone. Where several processes share the shards, call() carries an operation out in the process that serves its
// queue, and the other functions expect to run there. Thread safe; coroutines resume on the caller's executor. Reads
// are synchronous, bounded, and use one snapshot of each shard. Errors are those of the protocol (kQueueNotFound,
// kMessageNotFound, kPopReceiptMismatch, limits) and kLeaseLost.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/random.h"
#include "common/kv/account_properties.h"
#include "common/shards/operation_ledgers.h"
#include "common/shards/peers.h"
#include "common/shards/shards.h"
#include "queue_service/client/queue_calls.h"
#include "queue_service/model/message.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/model/queue_figures.h"
#include "queue_service/model/queue_rules.h"
#include "queue_service/storage/carriers.h"
#include "queue_service/storage/queue_records.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {

enum class CreateOutcome { kCreated, kExistedAlready };

struct QueuePage {
  struct Item {
    std::string name;
    Metadata metadata;
  };
  std::vector<Item> queues;
  std::optional<std::string> next;  // the first queue of the next page
};

struct QueueProperties {
  Metadata metadata;
  std::uint64_t messages = 0;
};

struct WaitRequest {
  Duration span{};
  std::string token = {};  // for cancel_wait; empty: the wait cannot be cancelled
  /// Called when a message has come; true ends the wait, because its client is gone.
  std::function<bool()> gone = {};
};

struct FiguresPage {
  struct Item {
    std::string account, queue;
    QueueFigures figures;
  };
  std::vector<Item> queues;
  std::string next;  // empty at the end
};

struct ServiceLimits {
  std::size_t max_waiters = 10000;  // more waits fail with kServerBusy
};

/// The work that upkeep found in some queues.
struct Upkeep {
  struct Item {
    std::string account, queue;
    bool sweep = false, keys = false;
    std::optional<std::uint64_t> left_over = {};  // for a part that no queue has: its incarnation
  };
  std::vector<Item> items;
  std::optional<Error> failed;  // of a queue that could not be read
};

class QueueService : public ::tidemark::shards::OperationLedgers, public kv::AccountProperties {
 public:
  QueueService(const shards::Shards& shards, Clock& clock, Random& random, ServiceLimits limits = {});
  /// For one shard. `ages`: the clock by which messages and keys expire (common/kv/age_clock.h); by default the same
  /// clock.
  QueueService(kv::Engine& engine, Clock& clock, Random& random, ServiceLimits limits = {},
               const Clock* ages = nullptr);
  ~QueueService();

  /// Carries out a call of client/queue_calls.h or owner_calls.h, in the process that serves its place. Defined in
  /// served_calls.h. kServerBusy: no process serves it now, or it is unknown whether the call was carried out.
  template <class Call>
  Task<Result<typename Call::Reply>> call(Call call);
  [[nodiscard]] std::size_t shard_of(std::string_view account, std::string_view queue) const;
  [[nodiscard]] Clock& clock() const;
  /// This process serves the shard from now on: continues the work that was under way there.
  Task<Result<void>> gained(std::size_t shard);
  /// This process no longer serves the shard: long polls of its queues end.
  void lost(std::size_t shard);
  /// Puts messages that departed from another shard to one that is here; the process of that other shard carries them.
  /// Tells where each was put in the end.
  Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard, std::vector<Departed> departed);

  // Queues.
  /// kQueueAlreadyExists if it exists with other metadata.
  Task<Result<CreateOutcome>> create_queue(std::string account, std::string queue, Metadata metadata);
  /// Succeeds if the queue exists, whatever its metadata.
  Task<Result<void>> ensure_queue(std::string account, std::string queue);
  /// O(1): the name is free at once; the messages are removed in the background.
  Task<Result<void>> delete_queue(std::string account, std::string queue);
  /// Returns at most `limit` (1..5000) queues in order, beginning with `from`.
  Result<QueuePage> list_queues(std::string_view account, std::string_view prefix, std::string_view from,
                                std::uint32_t limit);
  /// The count includes expired messages that are not removed yet.
  Task<Result<QueueProperties>> get_properties(std::string account, std::string queue);
  Task<Result<void>> set_metadata(std::string account, std::string queue, Metadata metadata);
  /// Sets these entries and leaves the others; an empty value removes an entry.
  Task<Result<void>> patch_metadata(std::string account, std::string queue, Metadata changes);
  Result<StoredPolicies> get_acl(std::string_view account, std::string_view queue);
  Task<Result<void>> set_acl(std::string account, std::string queue, StoredPolicies acl);

  // Parts of a spread queue; called by the process that serves the queue. Each call can be repeated.
  /// kFenced if there is a part from a later incarnation. `with_poison`: also makes the part of the poison queue.
  Task<Result<void>> make_part(std::string account, std::string part, std::uint64_t incarnation, bool with_poison);
  /// Drops the part unless it is from a later incarnation.
  Task<Result<void>> drop_part(std::string account, std::string part, std::uint64_t incarnation);

  // Messages.
  Task<Result<Placed>> put(std::string account, std::string queue, PutRequest request);
  /// Takes visible messages; if there are none, waits for at most 30 s. kServerBusy if too many callers wait, and if so
  /// many expired messages stood before the first visible one that they could not all be removed: the next call
  /// continues from there.
  Task<Result<std::vector<TakenMessage>>> get(std::string account, std::string queue, TakeRequest request,
                                              WaitRequest wait);
  /// Does the same in the process that serves the queue. There, too, the wait ends if its client is gone.
  Task<Result<std::vector<TakenMessage>>> get_anywhere(std::string account, std::string queue, TakeRequest request,
                                                       WaitRequest wait);
  /// Ends the wait that was begun with this token, if there is one.
  void cancel_wait(const std::string& token);
  /// The same, in any process that may have the wait.
  Task<Result<void>> cancel_wait_anywhere(std::string token);
  /// Looks past a bounded number of expired messages, so it may miss messages behind more of them until upkeep comes.
  Task<Result<std::vector<Message>>> peek(std::string account, std::string queue, std::uint32_t count);
  /// Makes the message visible again after `visibility`; its holder stays the same. With a lease this is a renewal, or,
  /// if `visibility` is zero, a release.
  Task<Result<Placed>> update(LeaseKey holder, Duration visibility, std::optional<std::string> text);
  Task<Result<void>> erase(LeaseKey holder);
  /// Deletes messages of one queue by lease, in one transaction. Returns for each whether it was held and is gone now.
  Task<Result<std::vector<bool>>> erase_all(std::string account, std::string queue, std::vector<LeaseKey> holders);
  /// Renews leases of one queue, in one transaction. Returns for each whether it is still held.
  Task<Result<std::vector<bool>>> renew_all(std::string account, std::string queue, std::vector<LeaseKey> holders,
                                            Duration visibility);
  /// Deletes the message and puts the follow-ups, in one transaction; those for queues of other shards arrive a moment
  /// later, even after a crash.
  Task<Result<std::vector<Placed>>> finish(LeaseKey holder, std::vector<FollowUp> follow_ups);
  /// Moves the message to another queue, where it becomes visible; between shards it travels as for finish().
  Task<Result<Placed>> move(LeaseKey holder, MoveRequest request);
  /// O(1), like delete_queue.
  Task<Result<void>> clear(std::string account, std::string queue);

  // Messages, by lease; see client/queue_client.h.
  /// Sequence numbers other than 0 must rise; a renewal that was overtaken by a later one fails with kFenced.
  Task<Result<void>> renew(LeaseKey lease, Duration visibility, std::optional<std::string> annotation,
                           std::uint64_t sequence);
  Task<Result<void>> release(LeaseKey lease, Duration delay, std::optional<std::string> annotation, bool count_attempt);
  /// Undoes a delivery that could not be handed over: it does not count as an attempt.
  Task<Result<void>> give_back(LeaseKey holder);
  Result<bool> holds(const std::string& account, const std::vector<std::string>& queues, const MessageName& message);
  Task<Result<bool>> withdraw(std::string account, std::vector<std::string> queues, MessageName message);
  /// Does the same for queues and parts of one shard.
  Task<Result<bool>> withdraw_here(std::size_t shard, std::string account, std::vector<std::string> queues,
                                   MessageName message);

  // Messages, for people; single ones, by id, only in poison queues. A given epoch must still be the message's.
  Result<MessagePage> list(std::string_view account, std::string_view queue, std::uint32_t limit,
                           std::string_view continuation);
  Result<std::optional<Message>> find(std::string_view account, std::string_view queue, std::string_view id);
  Task<Result<void>> remove(std::string account, std::string queue, std::string id,
                            std::optional<std::uint64_t> epoch = {});
  Task<Result<void>> redrive(std::string account, std::string queue, std::string id, MoveRequest request,
                             std::optional<std::uint64_t> epoch = {});

  // Figures.
  Task<Result<QueueFigures>> figures(std::string account, std::string queue);
  /// Returns up to `limit` queues of the account (of all, if it is empty) from `from`, which is an earlier `next`. Only
  /// reads.
  Result<FiguresPage> all_figures(std::string_view account, std::string_view from, std::uint32_t limit);
  [[nodiscard]] std::size_t waiters() const;

  /// Ends upkeep, and all current and future waits, which return nothing.
  void begin_shutdown();
  /// Removes the messages of cleared and deleted queues. Call it once at startup; later it runs by itself.
  Task<Result<void>> collect_garbage();
  /// Brings messages that were on their way to their shards. Call it once at startup; upkeep does it too.
  Task<Result<void>> carry_on();
  /// Makes one round over all queues: removes expired messages, wherever they are, and old idempotency keys.
  Task<Result<void>> upkeep();
  /// Makes rounds of upkeep until begin_shutdown().
  Task<void> keep_up(Duration interval);

 private:
  struct Core;
  struct Shard;
  [[nodiscard]] shards::Peers* peers() const;
  [[nodiscard]] std::size_t shards() const;
  // The shard of a call's place.
  [[nodiscard]] std::size_t shard_at(const calls::WholeQueue& place) const {
    return shard_of(place.account, place.queue);
  }
  [[nodiscard]] std::size_t shard_at(const calls::QueueOrPart& place) const {
    return shard_of(place.account, place.queue);
  }
  [[nodiscard]] std::size_t shard_at(rpc::ShardNumber place) const { return place.shard; }
  [[nodiscard]] std::size_t shard_at(const rpc::OperationPlace& place) const {
    return home_of(place.account, place.operation_id);
  }
  using Choice = std::function<Result<FoundMessage>(QueueRows&)>;
  /// Runs a transaction that changes a queue's rows, and returns the result of `change`.
  template <class Change, class Changed = std::invoke_result_t<Change&, QueueRows&>>
  Task<Changed> change_queue(const FailStep& step, std::string account, std::string queue, Change change);
  /// The same with the message that the holder names.
  template <class Change, class Changed = std::invoke_result_t<Change&, QueueRows&, FoundMessage&>>
  Task<Changed> change_held(const FailStep& step, LeaseKey holder, Change change);
  Task<Result<void>> change_metadata(std::string account, std::string queue,
                                     std::function<Result<Metadata>(const Metadata&)> change);
  Task<Result<Taken>> take(std::string account, std::string queue, TakeRequest request);
  /// Puts into the queue or, if it is spread, into one of its parts.
  Task<Result<Placed>> put_into_part(const std::string& account, const std::string& queue, const PutRequest& request);
  // Spread queues (spread_queues.cpp).
  /// Takes the messages of its parts, beginning with the next part in turn.
  Task<Result<std::vector<TakenMessage>>> take_from_parts(const std::string& account, const std::string& queue,
                                                          const QueueOptions& options, TakeRequest request);
  /// Returns the queue and its parts, after tidying those that are here. kQueueNotFound.
  Task<Result<std::vector<std::string>>> tidied(const std::string& account, const std::string& queue);
  /// Puts a message of a step with its mark in the ledger of the transaction, unless the step was taken before.
  Task<Result<Placed>> put_once(const std::string& account, const std::string& queue, const PutStep& step,
                                const std::function<Result<Placed>(QueueRows&)>& put_here);
  struct InPart {
    std::string part;
    Message message;
  };
  /// Finds a listed message of the queue or one of its parts. kQueueNotFound.
  Result<std::optional<InPart>> find_in_parts(std::string_view account, std::string_view queue, std::string_view id);
  /// Returns the part with the message. kMessageNotFound.
  Result<std::string> part_with(std::string_view account, std::string_view queue, std::string_view id);
  Result<MessagePage> list_part(std::string_view account, std::string_view queue, std::uint32_t limit,
                                std::string_view continuation);
  /// Makes the parts that a queue is to have, under a note of them (spread_rows.h). Returns nothing if it has them.
  Task<Result<std::optional<PartsNote>>> make_parts(std::string account, std::string queue, std::uint32_t parts);
  /// Runs `run` and, if it fails because the queue lacks its parts, makes them and runs it again.
  Task<Result<void>> with_parts_made(const std::string& account, const std::string& queue, const std::uint32_t& parts,
                                     std::function<Task<Result<void>>(const std::optional<PartsNote>& made)> run);
  Task<Result<void>> drop_parts(std::string account, std::string queue, std::uint32_t parts, std::uint64_t incarnation);
  /// Tells whether this is a part that no queue has.
  [[nodiscard]] Result<bool> is_left_over(std::string_view account, std::string_view name,
                                          const QueueRecord& record) const;
  /// Forgets notes of parts whose making was given up.
  Task<Result<void>> forget_old_notes(Shard& shard);
  Task<Result<Placed>> transfer(const FailStep& step, std::string account, std::string from, MoveRequest request,
                                Choice choose);
  /// Removes expired messages at the front, up to a bound.
  Task<Result<void>> tidy(std::string account, std::string queue);
  Task<Result<void>> settle(std::string account, std::string queue);
  /// Returns the work that upkeep has with one queue.
  [[nodiscard]] Result<Upkeep::Item> due_of(const kv::Reader& reader, std::string_view key, std::string_view value,
                                            Time age) const;
  /// Returns the work with the shard's queues from this key on. Sets `from` to the next key, or empty at the end.
  Result<Upkeep> upkeep_due(Shard& shard, std::string& from);
  Task<Result<void>> sweep(std::string account, std::string queue);
  Task<Result<void>> drop_dead_keys(std::string account, std::string queue);
  Task<Result<void>> tend(Shard& shard);
  std::shared_ptr<Core> core_;
};

}  // namespace tidemark::queue_service
