// Named places where a crash test makes the process die, as kill -9 would: before and after each durable step.
// TIDEMARK_FAIL_POINT=name[:count] in the environment kills it when the point is reached for the count-th time (1 if
// absent). Compiled in always; costs one atomic load when unset. The only global of the workers. Thread safe.
#pragma once
#include <atomic>
#include <span>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::workers {

// X(enumerator, name)
#define TIDEMARK_FAIL_POINTS(X)                    \
  X(kClaimBefore, "claim.before")                  \
  X(kClaimAfter, "claim.after")                    \
  X(kOpenBefore, "open.before")                    \
  X(kOpenAfter, "open.after")                      \
  X(kMovePlanBefore, "move.plan.before")           \
  X(kMovePlanAfter, "move.plan.after")             \
  X(kMoveCopyBefore, "move.copy.before")           \
  X(kMoveCopyAfter, "move.copy.after")             \
  X(kMoveEraseBefore, "move.erase.before")         \
  X(kMoveEraseAfter, "move.erase.after")           \
  X(kMovePageAfter, "move.page.after")             \
  X(kCopyWriteBefore, "copy.write.before")         \
  X(kCopyWriteAfter, "copy.write.after")           \
  X(kCopyPageAfter, "copy.page.after")             \
  X(kDeleteEraseBefore, "delete.erase.before")     \
  X(kDeleteEraseAfter, "delete.erase.after")       \
  X(kDeletePageAfter, "delete.page.after")         \
  X(kDropTableBefore, "drop.table.before")         \
  X(kDropTableAfter, "drop.table.after")           \
  X(kRedrivePlanBefore, "redrive.plan.before")     \
  X(kRedrivePlanAfter, "redrive.plan.after")       \
  X(kRedriveSendBefore, "redrive.send.before")     \
  X(kRedriveSendAfter, "redrive.send.after")       \
  X(kRedriveCanaryAfter, "redrive.canary.after")   \
  X(kIndexCollectAfter, "index.collect.after")     \
  X(kIndexWriteBefore, "index.write.before")       \
  X(kIndexWriteAfter, "index.write.after")         \
  X(kIndexEraseBefore, "index.erase.before")       \
  X(kIndexEraseAfter, "index.erase.after")         \
  X(kCloseBefore, "close.before")                  \
  X(kCloseAfter, "close.after")                    \
  X(kFinishRecordBefore, "finish.record.before")   \
  X(kFinishRecordAfter, "finish.record.after")     \
  X(kFinishMessageBefore, "finish.message.before") \
  X(kFinishMessageAfter, "finish.message.after")   \
  X(kRetryRecordBefore, "retry.record.before")     \
  X(kRetryMessageBefore, "retry.message.before")   \
  X(kRetryMessageAfter, "retry.message.after")     \
  X(kPoisonNoteBefore, "poison.note.before")       \
  X(kPoisonNoteAfter, "poison.note.after")         \
  X(kPoisonRecordAfter, "poison.record.after")     \
  X(kPoisonMoveAfter, "poison.move.after")         \
  X(kRenewBefore, "renew.before")                  \
  X(kRenewAfter, "renew.after")

enum class FailPoint : int {
#define X(enumerator, name) enumerator,
  TIDEMARK_FAIL_POINTS(X)
#undef X
};

std::span<const std::string_view> fail_point_names();

/// Reads "name[:count]"; empty disarms. kConfigInvalid for a name that does not exist.
Result<void> arm_fail_point(std::string_view text);
/// From the environment.
Result<void> arm_fail_point_from_environment();

namespace detail {
extern std::atomic<int> armed_fail_point;  // -1: none
void reach_armed_fail_point();
}  // namespace detail

inline void fail_point(FailPoint point) {
  if (detail::armed_fail_point.load(std::memory_order_relaxed) == static_cast<int>(point)) {
    detail::reach_armed_fail_point();
  }
}

}  // namespace tidemark::workers
