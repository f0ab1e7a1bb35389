// The worker's fail points (common/base/fail_points.h): before and after each step of a delivery that others can see.
#pragma once
#include "common/base/fail_points.h"

namespace tidemark::workers::fail_points {

inline const FailStep kClaim("claim");
inline const FailStep kOpen("open");
inline const FailStep kBatchMove("batch.move");
inline const FailStep kBatchSteps("batch.steps");
inline const FailStep kBatchMessage("batch.message");
inline const FailStep kBatchClose("batch.close");
inline const FailStep kBatchComplete("batch.complete");
inline const FailStep kMovePlan("move.plan");
inline const FailStep kMoveCopy("move.copy");
inline const FailStep kMoveErase("move.erase");
inline const FailStep kMoveTakeBack("takeback.erase");
inline const FailPoint kMovePageAfter("move.page", "after");
inline const FailStep kObjectPut("object.put");
inline const FailStep kObjectErase("object.erase");
inline const FailStep kAdoptEnter("adopt.enter");
inline const FailStep kAdoptOwn("adopt.own");
inline const FailStep kOffloadNote("offload.note");
inline const FailStep kOffloadUpload("offload.upload");
inline const FailStep kOffloadLink("offload.link");
inline const FailStep kOffloadErase("offload.erase");
inline const FailStep kDiscardNote("discard.note");
inline const FailStep kDiscardEntity("discard.entity");
inline const FailStep kDiscardBlob("discard.blob");
inline const FailStep kOrphansPage("orphans.page");
inline const FailStep kOrphansErase("orphans.erase");
inline const FailStep kCopyWrite("copy.write");
inline const FailPoint kCopyPageAfter("copy.page", "after");
inline const FailStep kMergeWrite("merge.write");
inline const FailPoint kMergePageAfter("merge.page", "after");
inline const FailStep kDeleteErase("delete.erase");
inline const FailPoint kDeletePageAfter("delete.page", "after");
inline const FailStep kDropTable("drop.table");
inline const FailStep kSweepPlan("sweep.plan");
inline const FailStep kSweepDeal("sweep.deal");
inline const FailPoint kSweepCanaryAfter("sweep.canary", "after");
inline const FailStep kTransactionSteps("transaction.steps");
inline const FailStep kTransactionMessage("transaction.message");
inline const FailStep kTransactionUndo("transaction.undo");
inline const FailStep kTransactionBlob("transaction.blob");
inline const FailStep kCallbackSend("callback.send");
inline const FailStep kRuleSubmit("rule.submit");
inline const FailStep kRulePlace("rule.place");
inline const FailStep kIndexClaim("index.claim");
inline const FailStep kIndexFollow("index.follow");
inline const FailStep kIndexRows("index.rows");
inline const FailPoint kIndexPageAfter("index.page", "after");
inline const FailStep kIndexRelease("index.release");
inline const FailStep kFollowRows("follow.rows");
inline const FailStep kFollowPutBlob("follow.put_blob");
inline const FailStep kFollowEraseBlob("follow.erase_blob");
inline const FailStep kFollowProgress("follow.progress");
inline const FailStep kFollowAcknowledge("follow.acknowledge");
inline const FailStep kClose("close");
inline const FailStep kFinishRecord("finish.record");
inline const FailStep kFinishMessage("finish.message");
inline const FailPoint kRetryRecordBefore("retry.record", "before");
inline const FailStep kRetryMessage("retry.message");
inline const FailStep kPoisonNote("poison.note");
inline const FailPoint kPoisonRecordAfter("poison.record", "after");
inline const FailPoint kPoisonMoveAfter("poison.move", "after");
inline const FailStep kPassOn("pass_on");
inline const FailStep kRenew("renew");
inline const FailStep kAnalyticsDeliver("analytics.deliver");
inline const FailStep kScheduleClaim("schedule.claim");
inline const FailStep kScheduleSubmit("schedule.submit");
inline const FailStep kScheduleNote("schedule.note");

}  // namespace tidemark::workers::fail_points
