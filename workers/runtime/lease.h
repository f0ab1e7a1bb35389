// The lease on a job's message while it is worked on: renewed by a heartbeat at a third of its length, each renewal
// storing the latest annotation. An annotation waits a second at most for that: what a worker has done is soon known to
// whoever comes after it, however long the lease. Lost means: the queue said so, or its time passed without a
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
  /// Ends the heartbeat; afterwards no renewal of it is under way.
  Task<void> stop();
  [[nodiscard]] bool lost() const { return lost_after(Duration::zero()); }
  /// Lost by now, or before `span` has passed unless it is renewed.
  [[nodiscard]] bool lost_after(Duration span) const;
  /// Goes with the next renewal, within kNoteInterval.
  void set_annotation(std::string annotation);
  /// Stores the annotation now. kLeaseLost.
  Task<Result<void>> renew_now(std::string annotation);
  [[nodiscard]] const queue_service::Lease& lease() const { return lease_; }

 private:
  static Task<void> beat(std::shared_ptr<HeldLease> self);
  Task<Result<void>> renew(std::optional<std::string> annotation);
  /// Until the heartbeat's next renewal.
  [[nodiscard]] Duration pause() const;

  queue_service::QueueClient& queues_;
  Clock& clock_;
  queue_service::Lease lease_;
  Duration length_;
  Time valid_until_;
  Time sent_;                   // when the last renewal was, at first: when the message came
  bool failed_ = false;         // that renewal
  std::uint64_t renewals_ = 0;  // their sequence numbers: one that comes late does not undo a later one
  std::optional<std::string> pending_;
  bool lost_ = false;
  bool stopping_ = false;
  bool beating_ = false;
  bool renewing_ = false;
  Signal wake_;
  Signal ended_;
};

}  // namespace tidemark::workers
