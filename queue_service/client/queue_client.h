// A client of the queue service for the workers and the api. A lease here is (message id, epoch), so it survives a
// renewal whose reply was lost. Errors: kQueueNotFound, kMessageNotFound, kLeaseLost (taken by another delivery, moved
// or deleted), kDeadlineExceeded, kUnavailable.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/base/mutex.h"
#include "common/rpc/call.h"
#include "queue_service/client/queue_calls.h"

namespace tidemark::queue_service {

struct Lease {
  std::string queue;  // or the part of a spread queue
  std::string message_id;
  std::uint64_t epoch = 0;
};
/// Returns the lease of a message that was received from this queue.
Lease lease_of(std::string queue, const Message& message);

class QueueClient {
  rpc::Caller caller_;

 public:
  /// `name`, if given, must be unique; it lets the client end its waits.
  QueueClient(rpc::Transport& transport, std::string account, std::string name = {})
      : caller_{transport, std::move(account), std::chrono::seconds(10)}, name_(std::move(name)) {}

  [[nodiscard]] const std::string& account() const { return caller_.account; }
  /// Returns a client of the same service for another account, whose waits end_waits() does not end.
  [[nodiscard]] std::shared_ptr<QueueClient> as(std::string account) const {
    return std::make_shared<QueueClient>(caller_.transport, std::move(account));
  }

  /// Succeeds if the queue exists already.
  rpc::Method<calls::EnsureQueue> ensure_queue{caller_};
  /// False: it existed already, with the same metadata. kQueueAlreadyExists: with other metadata.
  rpc::Method<calls::CreateQueue> create_queue{caller_};
  /// O(1), as is clear(): the messages are removed in the background.
  rpc::Method<calls::DeleteQueue> delete_queue{caller_};
  rpc::Method<calls::Clear> clear{caller_};
  rpc::Method<calls::GetAcl> policies{caller_};
  rpc::Method<calls::SetAcl> set_policies{caller_};
  Task<Result<std::vector<std::string>>> list_queues(std::string prefix);
  /// Never expires. Returns the message id.
  Task<Result<std::string>> put(std::string queue, std::string text, Duration visibility_delay);
  Task<Result<std::string>> put(std::string queue, PutRequest message);
  Task<Result<MessageName>> put_named(std::string queue, PutRequest message);
  /// Tells where the message was put.
  rpc::Method<calls::Put> put_placed{caller_};
  /// Takes the first visible message and waits for one up to `wait` (at most 30 s); nothing if none came.
  Task<Result<std::optional<Message>>> receive(std::string queue, Duration visibility, Duration wait,
                                               KeyLimits limits = {});
  /// Takes up to `count` (1..100) messages that are visible now, in one transaction.
  Task<Result<std::vector<Message>>> receive_some(std::string queue, Duration visibility, std::uint32_t count,
                                                  KeyLimits limits = {});
  /// Ends all current and future waits, which return nothing; for a process that stops.
  Task<void> end_waits();
  /// Keeps the message invisible for `visibility` from now, and replaces the annotation if one is given. A renewal with
  /// a sequence number (from 1) that was overtaken by a later one fails with kFenced and changes nothing.
  Task<Result<void>> renew(Lease lease, Duration visibility, std::optional<std::string> annotation,
                           std::uint64_t sequence = 0);
  /// Renews 1..100 leases, those of one queue in one transaction. Returns for each whether it is still held.
  Task<Result<std::vector<bool>>> renew_all(std::vector<Lease> leases, Duration visibility);
  /// Makes the message visible after `visibility`, with another text if one is given. The lease goes on, unless
  /// `visibility` is zero.
  Task<Result<Placed>> update(Lease lease, Duration visibility, std::optional<std::string> text);
  /// Deletes the message.
  Task<Result<void>> complete(Lease lease);
  /// Deletes 1..100 messages, those of one queue in one transaction. Returns for each whether it was still held and is
  /// gone now.
  Task<Result<std::vector<bool>>> complete_all(std::vector<Lease> leases);
  /// Deletes the message and puts the follow-ups, in one transaction; returns their ids.
  Task<Result<std::vector<std::string>>> finish(Lease lease, std::vector<FollowUp> follow_ups);
  /// Gives the message back, visible after `delay`, with a new annotation. Unless `count_attempt`, the delivery is
  /// removed from dequeue_count again, because throttling and shutdown are not the message's fault.
  Task<Result<void>> release(Lease lease, Duration delay, std::string annotation, bool count_attempt);
  /// Moves the message to another queue in one transaction, with the same id. It is visible there at once.
  Task<Result<void>> move(Lease lease, MoveRequest move);

  /// Tells whether one of these queues has the message, all in one snapshot. It must have been put with put_named(), or
  /// delivered under a lease, or moved by one of these calls.
  rpc::Method<calls::Holds> holds{caller_};
  /// Removes such a message unless it is in flight. True if it was there and was removed.
  rpc::Method<calls::Withdraw> withdraw{caller_};

  /// For people. list() gives all messages of a queue in order, visible or not. The other calls work on a message of a
  /// poison queue by its id, without a lease (kInvalidInput for another queue). If given the epoch that the message had
  /// when it was looked at, they leave it alone if it was delivered since and has come back (kMessageNotFound).
  rpc::Method<calls::ListMessages> list{caller_};
  rpc::Method<calls::Find> find{caller_};
  Task<Result<void>> remove(std::string queue, std::string message_id, std::optional<std::uint64_t> epoch = {});
  /// Moves a message from `queue` to `to_queue` in one transaction, with the same id and dequeue_count 0. The
  /// annotation is empty unless one is given; the text is replaced if one is given. With `seen`, only a message that
  /// still has this ETag (kConditionNotMet).
  Task<Result<void>> redrive(std::string queue, std::string message_id, std::string to_queue,
                             std::optional<std::string> text, std::string annotation,
                             std::optional<std::uint64_t> epoch = {}, std::string seen = {});
  // The ledgers of transactions, as in the table store.
  rpc::Method<calls::OpenOperation> open_operation{caller_};
  rpc::Method<calls::CloseOperation> close_operation{caller_};

  rpc::Method<calls::Figures> figures{caller_};
  /// Returns the figures of all queues of the account, up to `limit` (1..1000) on a page.
  rpc::Method<calls::AllFigures> all_figures{caller_};
  /// Pauses or resumes a queue. A paused queue gives out no messages; everything else works.
  rpc::Method<calls::SetPaused> set_paused{caller_};
  /// Spreads the queue over so many shards, for good. kInvalidMetadata, with the reason.
  rpc::Method<calls::SetParts> set_parts{caller_};

 private:
  /// Makes one call, which waits at the service.
  Task<Result<std::vector<Message>>> take(std::string queue, Duration visibility, Duration wait, std::string token,
                                          std::uint32_t count, KeyLimits limits);
  /// Makes one call for the leases of each queue or part, and returns the replies in the order of the leases.
  template <class Call>
  Task<Result<std::vector<bool>>> by_queue(std::vector<Lease> leases, Call call);
  [[nodiscard]] LeaseKey key_of(Lease lease) const;
  std::string name_;
  Mutex mutex_;
  std::uint64_t last_wait_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> waits_ GUARDED_BY(mutex_);  // tokens
  bool waits_ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace tidemark::queue_service
