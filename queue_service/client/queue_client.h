// The queue service as the workers and the api see it. Leases here are (message id, epoch): a renewal does not
// invalidate its holder, whatever happened to the reply. Errors: kQueueNotFound, kMessageNotFound, kLeaseLost (taken
// by another delivery, moved or deleted), kDeadlineExceeded, kUnavailable.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/base/mutex.h"
#include "common/rpc/transport.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/model/queue_figures.h"

namespace tidemark::queue_service {

struct Lease {
  std::string queue;
  std::string message_id;
  std::uint64_t epoch = 0;
};

class QueueClient {
 public:
  /// `name`, if given, is this client's alone: with it the client can end its waits.
  QueueClient(rpc::Transport& transport, std::string account, std::string name = {})
      : transport_(transport), account_(std::move(account)), name_(std::move(name)) {}

  /// Succeeds if the queue exists already.
  Task<Result<void>> ensure_queue(std::string queue);
  Task<Result<std::vector<std::string>>> list_queues(std::string prefix);
  /// Never expires. Returns the message id.
  Task<Result<std::string>> put(std::string queue, std::string text, Duration visibility_delay);
  Task<Result<std::string>> put(std::string queue, PutRequest message);
  /// Takes the first visible message, waiting up to `wait` (at most 30 s) for one; nothing if none came.
  Task<Result<std::optional<Message>>> receive(std::string queue, Duration visibility, Duration wait);
  /// Takes those that are visible now, at most `count` (1..32), in one transaction.
  Task<Result<std::vector<Message>>> receive_some(std::string queue, Duration visibility, std::uint32_t count);
  /// Ends the waits under way, which return nothing, and those to come: for a process that stops.
  Task<void> end_waits();
  /// Keeps the message invisible for `visibility` from now; replaces the annotation if one is given. Of renewals with
  /// sequence numbers (from 1) one that was overtaken by a later one is kFenced and changes nothing.
  Task<Result<void>> renew(Lease lease, Duration visibility, std::optional<std::string> annotation,
                           std::uint64_t sequence = 0);
  /// Deletes the message.
  Task<Result<void>> complete(Lease lease);
  /// 1..100 messages of one queue, in one transaction; for each whether it was held still, and so is gone now.
  Task<Result<std::vector<bool>>> complete_all(std::string queue, std::vector<Lease> leases);
  /// One transaction: deletes the message and puts the follow-ups; returns their ids.
  Task<Result<std::vector<std::string>>> finish(Lease lease, std::vector<FollowUp> follow_ups);
  /// Gives the message back, visible after `delay`, with a new annotation. `count_attempt` false takes the delivery
  /// out of dequeue_count again (throttling and shutdown are not the message's fault).
  Task<Result<void>> release(Lease lease, Duration delay, std::string annotation, bool count_attempt);
  /// One transaction: the message (same id, same text) leaves its queue and is in `to_queue` (created if need be),
  /// with this annotation, visible there at once.
  Task<Result<void>> move(Lease lease, std::string to_queue, std::string annotation);

  /// For people: all messages of a queue, visible or not, in order; and single ones of a poison queue by id, without a
  /// lease (kInvalidInput for another queue).
  Task<Result<MessagePage>> list(std::string queue, std::uint32_t limit, std::string continuation);
  Task<Result<std::optional<Message>>> find(std::string queue, std::string message_id);
  Task<Result<void>> remove(std::string queue, std::string message_id);
  /// One transaction: out of `queue`, into `to_queue` with the same id, dequeue_count 0, an empty annotation unless one
  /// is given, and the text if one is given.
  Task<Result<void>> redrive(std::string queue, std::string message_id, std::string to_queue,
                             std::optional<std::string> text, std::string annotation);
  Task<Result<QueueFigures>> figures(std::string queue);
  /// Of all queues of the account, at most `limit` (1..1000) a page.
  Task<Result<QueueFiguresPage>> all_figures(std::uint32_t limit, std::string continuation);
  /// A paused queue gives out nothing; all else works.
  Task<Result<void>> set_paused(std::string queue, bool paused);

 private:
  /// One call, waiting at the service.
  Task<Result<std::vector<Message>>> take(std::string queue, Duration visibility, Duration wait, std::string token,
                                          std::uint32_t count);
  [[nodiscard]] LeaseKey key_of(Lease lease) const;
  rpc::Transport& transport_;
  std::string account_;
  std::string name_;
  Mutex mutex_;
  std::uint64_t last_wait_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> waits_ GUARDED_BY(mutex_);  // tokens
  bool waits_ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace tidemark::queue_service
