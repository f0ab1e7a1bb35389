// The operations of the queue service, for both faces (rest/ and internal/). All rules of the domain are here, in
// model/ or in queue_rows. Queues are divided over shards: what concerns one queue and its poison queue is done in one
// transaction of their shard; a message that leaves it travels (storage/carriers.h). A spread queue has parts on
// several shards, whose messages are found under its name; what names a part (model/queue_parts.h) is about that part
// alone. Thread safe; coroutines resume on the caller's executor. Reads are synchronous, bounded, and use one snapshot
// of each shard. Errors are those of the protocol (kQueueNotFound, kMessageNotFound, kPopReceiptMismatch, limits) and
// kLeaseLost.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/random.h"
#include "common/kv/account_properties.h"
#include "common/kv/shards.h"
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
  std::string token = {};  // for cancel_wait; empty: none
  /// Called when a message has come; true ends the wait, because nobody is there to take it.
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

/// What a turn over some queues found to do.
struct Upkeep {
  struct Item {
    std::string account, queue;
    bool sweep = false, keys = false;
    std::optional<std::uint64_t> left_over = {};  // a part that no queue has: its incarnation
  };
  std::vector<Item> items;
  std::optional<Error> failed;  // of a queue that could not be read
};

class OtherOwners;

class QueueService : public kv::AccountProperties {
 public:
  QueueService(const kv::Shards& shards, Clock& clock, Random& random, ServiceLimits limits = {});
  /// One shard. `ages`: by which messages and keys expire (common/kv/age_clock.h); by default the same clock.
  QueueService(kv::Engine& engine, Clock& clock, Random& random, ServiceLimits limits = {},
               const Clock* ages = nullptr);
  ~QueueService();

  /// Before the first request: some shards are served by other processes. `others` must outlive the service.
  void share_with(OtherOwners& others);
  [[nodiscard]] std::size_t shard_of(std::string_view account, std::string_view queue) const;
  /// This process serves the shard from now on: goes on with what was under way there.
  Task<Result<void>> gained(std::size_t shard);
  /// It does not any more: long polls of its queues end.
  void lost(std::size_t shard);
  /// What departed from another shard for one that is here, and is carried by that one's process. Tells where it was
  /// put in the end.
  Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard, std::vector<Departed> departed);

  // Queues.
  /// kQueueAlreadyExists if it exists with other metadata.
  Task<Result<CreateOutcome>> create_queue(std::string account, std::string queue, Metadata metadata);
  /// Succeeds if the queue exists, whatever its metadata.
  Task<Result<void>> ensure_queue(std::string account, std::string queue);
  /// O(1): the name is free at once; the messages are removed in the background.
  Task<Result<void>> delete_queue(std::string account, std::string queue);
  /// In order, from `from` on, at most `limit` (1..5000).
  Result<QueuePage> list_queues(std::string_view account, std::string_view prefix, std::string_view from,
                                std::uint32_t limit);
  /// The count has expired messages that are not removed yet.
  Task<Result<QueueProperties>> get_properties(std::string account, std::string queue);
  Task<Result<void>> set_metadata(std::string account, std::string queue, Metadata metadata);
  /// Sets these entries and leaves the others; an empty value removes an entry.
  Task<Result<void>> patch_metadata(std::string account, std::string queue, Metadata changes);
  Result<StoredPolicies> get_acl(std::string_view account, std::string_view queue);
  Task<Result<void>> set_acl(std::string account, std::string queue, StoredPolicies acl);

  // Parts of a spread queue, by whoever serves the queue; each can be repeated.
  /// kFenced if there is one from a later incarnation. `with_poison`: also the part of the poison queue.
  Task<Result<void>> make_part(std::string account, std::string part, std::uint64_t incarnation, bool with_poison);
  /// Unless it is from a later incarnation.
  Task<Result<void>> drop_part(std::string account, std::string part, std::uint64_t incarnation);

  // Messages.
  Task<Result<Placed>> put(std::string account, std::string queue, PutRequest request);
  /// Takes visible messages; if there are none, waits for at most 30 s. kServerBusy if too many callers wait, and if so
  /// many expired messages stood before the first visible one that they could not all be removed: the next call goes on
  /// from there.
  Task<Result<std::vector<TakenMessage>>> get(std::string account, std::string queue, TakeRequest request,
                                              WaitRequest wait);
  /// Ends the wait that was begun with this token, if there is one.
  void cancel_wait(const std::string& token);
  /// The same on whichever process the wait may be.
  Task<Result<void>> cancel_wait_anywhere(std::string token);
  /// Looks past a bounded number of expired messages, so it may miss what is behind more of them until upkeep comes.
  Task<Result<std::vector<Message>>> peek(std::string account, std::string queue, std::uint32_t count);
  /// Makes the message visible again after `visibility`; its holder stays the same. With a lease this is a renewal, or,
  /// if `visibility` is zero, a release.
  Task<Result<Placed>> update(LeaseKey holder, Duration visibility, std::optional<std::string> text);
  Task<Result<void>> erase(LeaseKey holder);
  /// Deletes messages of one queue by lease, in one transaction. Returns for each whether it was held and is gone now.
  Task<Result<std::vector<bool>>> erase_all(std::string account, std::string queue, std::vector<LeaseKey> holders);
  /// Deletes the message and puts the follow-ups, in one transaction; those for queues of other shards arrive a moment
  /// later, whatever happens.
  Task<Result<std::vector<Placed>>> finish(LeaseKey holder, std::vector<FollowUp> follow_ups);
  /// Moves the message to another queue, where it is visible; between shards as finish() does.
  Task<Result<Placed>> move(LeaseKey holder, MoveRequest request);
  /// O(1), like delete_queue.
  Task<Result<void>> clear(std::string account, std::string queue);

  // Messages, by lease; see client/queue_client.h.
  /// Sequence numbers other than 0 must rise; a renewal that was overtaken by a later one fails with kFenced.
  Task<Result<void>> renew(LeaseKey lease, Duration visibility, std::optional<std::string> annotation,
                           std::uint64_t sequence);
  Task<Result<void>> release(LeaseKey lease, Duration delay, std::optional<std::string> annotation, bool count_attempt);
  /// Undoes a delivery that could not be handed over: it was no attempt.
  Task<Result<void>> give_back(LeaseKey holder);
  Result<bool> holds(const std::string& account, const std::vector<std::string>& queues, const MessageName& message);
  Task<Result<bool>> withdraw(std::string account, std::vector<std::string> queues, MessageName message);

  // Messages, for people; single ones, by id, only in poison queues. With an epoch, only as long as the message has it.
  Result<MessagePage> list(std::string_view account, std::string_view queue, std::uint32_t limit,
                           std::string_view continuation);
  Result<std::optional<Message>> find(std::string_view account, std::string_view queue, std::string_view id);
  Task<Result<void>> remove(std::string account, std::string queue, std::string id,
                            std::optional<std::uint64_t> epoch = {});
  Task<Result<void>> redrive(std::string account, std::string queue, std::string id, MoveRequest request,
                             std::optional<std::uint64_t> epoch = {});

  // Figures.
  Task<Result<QueueFigures>> figures(std::string account, std::string queue);
  /// Up to `limit` queues of the account (of all, if it is empty) from `from`, which is an earlier `next`. Only reads.
  Result<FiguresPage> all_figures(std::string_view account, std::string_view from, std::uint32_t limit);
  [[nodiscard]] std::size_t waiters() const;

  /// Ends upkeep, and all current and future waits, which return nothing.
  void begin_shutdown();
  /// Removes the messages of cleared and deleted queues. Call it once at startup; later it runs by itself.
  Task<Result<void>> collect_garbage();
  /// Brings messages to their shards that were on their way. Call it once at startup; upkeep does it too.
  Task<Result<void>> carry_on();
  /// One round over all queues: removes expired messages, wherever they are, and old idempotency keys.
  Task<Result<void>> upkeep();
  /// Rounds of it until begin_shutdown().
  Task<void> keep_up(Duration interval);

 private:
  struct Core;
  struct Shard;
  using Choice = std::function<Result<FoundMessage>(QueueRows&)>;
  /// A transaction that changes a queue's rows, with what `change` returns.
  template <class Change, class Changed = std::invoke_result_t<Change&, QueueRows&>>
  Task<Changed> change_queue(const FailStep& step, std::string account, std::string queue, Change change);
  /// The same with the message that its holder speaks of.
  template <class Change, class Changed = std::invoke_result_t<Change&, QueueRows&, FoundMessage&>>
  Task<Changed> change_held(const FailStep& step, LeaseKey holder, Change change);
  Task<Result<void>> change_metadata(std::string account, std::string queue,
                                     std::function<Result<Metadata>(const Metadata&)> change);
  Task<Result<Taken>> take(std::string account, std::string queue, TakeRequest request);
  // Spread queues (spread_queues.cpp).
  /// What its parts have, beginning with the next one in turn.
  Task<Result<std::vector<TakenMessage>>> take_from_parts(const std::string& account, const std::string& queue,
                                                          const QueueOptions& options, TakeRequest request);
  /// The queue and its parts, once those that are here are tidied. kQueueNotFound.
  Task<Result<std::vector<std::string>>> tidied(const std::string& account, const std::string& queue);
  struct InPart {
    std::string part;
    Message message;
  };
  /// A listed message of the queue or one of its parts. kQueueNotFound.
  Result<std::optional<InPart>> find_in_parts(std::string_view account, std::string_view queue, std::string_view id);
  /// Where it is. kMessageNotFound.
  Result<std::string> part_with(std::string_view account, std::string_view queue, std::string_view id);
  Result<MessagePage> list_part(std::string_view account, std::string_view queue, std::uint32_t limit,
                                std::string_view continuation);
  /// Makes the parts that a queue is to have, under a note of them (spread_rows.h). Nothing if it has them.
  Task<Result<std::optional<PartsNote>>> make_parts(std::string account, std::string queue, std::uint32_t parts);
  /// Runs it, and, if it fails because the queue lacks its parts, makes them and runs it again.
  Task<Result<void>> with_parts_made(const std::string& account, const std::string& queue, const std::uint32_t& parts,
                                     std::function<Task<Result<void>>(const std::optional<PartsNote>& made)> run);
  Task<Result<void>> drop_parts(std::string account, std::string queue, std::uint32_t parts, std::uint64_t incarnation);
  /// A part that no queue has.
  [[nodiscard]] Result<bool> is_left_over(std::string_view account, std::string_view name,
                                          const QueueRecord& record) const;
  /// Of parts that nobody makes any more.
  Task<Result<void>> forget_old_notes(Shard& shard);
  Task<Result<Placed>> transfer(const FailStep& step, std::string account, std::string from, MoveRequest request,
                                Choice choose);
  /// Removes what has expired at the front, up to a bound.
  Task<Result<void>> tidy(std::string account, std::string queue);
  Task<Result<void>> settle(std::string account, std::string queue);
  /// What is to be done with one queue.
  [[nodiscard]] Result<Upkeep::Item> due_of(const kv::Reader& reader, std::string_view key, std::string_view value,
                                            Time age) const;
  /// Of the shard's queues from this key on. Afterwards it is the next one, or empty at the end.
  Result<Upkeep> upkeep_due(Shard& shard, std::string& from);
  Task<Result<void>> sweep(std::string account, std::string queue);
  Task<Result<void>> drop_dead_keys(std::string account, std::string queue);
  Task<Result<void>> tend(Shard& shard);
  std::shared_ptr<Core> core_;
};

}  // namespace tidemark::queue_service
