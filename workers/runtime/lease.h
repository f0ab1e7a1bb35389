// The lease on a job's message while a worker works on it. A heartbeat renews it after a third of its length, and each
// renewal stores the latest annotation. An annotation waits for at most a second, so the next worker knows how far the
// work came, however long the lease. A lease is lost if the queue says so, or if its time has passed without a
// successful renewal. All calls, and the heartbeat, run on one strand.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "common/base/async.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::workers {

/// The longest that an annotation waits for its renewal.
inline constexpr Duration kNoteInterval = std::chrono::seconds(1);

class HeldLease : public std::enable_shared_from_this<HeldLease> {
 public:
  /// `taken`: when the message arrived.
  HeldLease(queue_service::QueueClient& queues, Clock& clock, queue_service::Lease lease, Duration length, Time taken);

  /// Starts the heartbeat; `strand` is the caller's executor.
  void start(Executor strand);
  /// Ends the heartbeat; no renewal is in progress afterwards.
  Task<void> stop();
  [[nodiscard]] bool lost() const { return lost_after(Duration::zero()); }
  /// True if the lease is lost, or will be lost before `span` has passed unless it is renewed.
  [[nodiscard]] bool lost_after(Duration span) const;
  /// Stores it with the next renewal, within kNoteInterval.
  void set_annotation(std::string annotation);
  /// Stores the annotation now. kLeaseLost.
  Task<Result<void>> renew_now(std::string annotation);
  [[nodiscard]] const queue_service::Lease& lease() const { return lease_; }

 private:
  static Task<void> beat(std::shared_ptr<HeldLease> self);
  Task<Result<void>> renew(std::optional<std::string> annotation);
  /// The time until the heartbeat's next renewal.
  [[nodiscard]] Duration pause() const;

  queue_service::QueueClient& queues_;
  Clock& clock_;
  queue_service::Lease lease_;
  Duration length_;
  Time valid_until_;
  Time sent_;                   // when the last renewal was sent; at first, when the message arrived
  bool failed_ = false;         // the last renewal failed
  std::uint64_t renewals_ = 0;  // sequence numbers, so that a late renewal does not undo a later one
  std::optional<std::string> pending_;
  bool lost_ = false;
  bool stopping_ = false;
  bool beating_ = false;
  bool renewing_ = false;
  Signal wake_;
  Signal ended_;
};

}  // namespace tidemark::workers
