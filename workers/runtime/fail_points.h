// The worker's fail points (common/base/fail_points.h): before and after each step of a delivery that others can see.
#pragma once
#include "common/base/fail_points.h"

namespace tidemark::workers::fail_points {

inline const FailStep kClaim("claim");
inline const FailStep kOpen("open");
inline const FailStep kArchivePlan("archive.plan");
inline const FailStep kArchiveCopy("archive.copy");
inline const FailStep kArchiveErase("archive.erase");
inline const FailPoint kArchivePageAfter("archive.page", "after");
inline const FailPoint kIndexCollectAfter("index.collect", "after");
inline const FailStep kIndexWrite("index.write");
inline const FailStep kIndexErase("index.erase");
inline const FailStep kClose("close");
inline const FailStep kFinishRecord("finish.record");
inline const FailStep kFinishMessage("finish.message");
inline const FailPoint kRetryRecordBefore("retry.record", "before");
inline const FailStep kRetryMessage("retry.message");
inline const FailStep kPoisonNote("poison.note");
inline const FailPoint kPoisonRecordAfter("poison.record", "after");
inline const FailPoint kPoisonMoveAfter("poison.move", "after");
inline const FailStep kRenew("renew");

}  // namespace tidemark::workers::fail_points
