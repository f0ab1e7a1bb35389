#include "workers/runtime/small_transaction.h"

#include <algorithm>
#include <set>

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {

using jobs::FilledEntityStep;
using jobs::FilledMessage;
using table_store::StepsRequest;
using table_store::StepsTaken;

bool is_small(const jobs::TransactionSpec& transaction) {
  const auto at_home = [](const auto& guard) { return guard.account.empty(); };
  return std::ranges::all_of(transaction.guards, at_home) &&
         std::ranges::all_of(transaction.steps, [&](const auto& step) {
           if (const auto* message = std::get_if<jobs::MessageStepSpec>(&step)) return message->account.empty();
           const auto* entity = jobs::entity_of(step);
           return entity != nullptr && transaction.target_of(*entity).account.empty();
         });
}

Task<Result<bool>> SmallTransaction::run() {
  const jobs::EntityReader reader = [this](const std::string&, std::string table, std::string partition_key,
                                           std::string row_key) {
    return job_.calls.get(std::move(table), std::move(partition_key), std::move(row_key));
  };
  auto read = CO_TRY(co_await jobs::read_guards(reader, job_.spec, job_.fence.operation_id));
  if (read.broken) co_return false;
  steps_ = CO_TRY(jobs::fill_in(job_.spec, read.values));
  if (!unrestricted() || !CO_TRY(co_await has_queues())) co_return false;
  if (!CO_TRY(co_await decide(std::move(read)))) co_return false;
  while (!ended_) {
    if (next_ < steps_.size()) {
      if (const auto* message = std::get_if<FilledMessage>(&steps_[next_])) {
        CO_TRY(co_await put(*message));
        continue;
      }
    }
    StepsRequest request;
    const auto* change = next_ < steps_.size() ? std::get_if<FilledEntityStep>(&steps_[next_]) : nullptr;
    if (change != nullptr) request.at = {change->change.table, change->change.partition_key};
    const auto taken = CO_TRY(co_await take(std::move(request)));
    const bool is_stuck = !ended_ && taken.taken == 0;  // somebody has withdrawn it, or the record is on another shard
    if (is_stuck) co_return fail(ErrorCode::kFenced);
  }
  co_return true;
}

bool SmallTransaction::unrestricted() const {
  std::vector<PartitionRef> places;
  for (const auto& step : steps_) {
    if (const auto* it = std::get_if<FilledEntityStep>(&step)) {
      places.push_back({it->change.table, it->change.partition_key});
    }
  }
  return job_.gate.unrestricted(std::string(jobs::TransactionSpec::kName), places);
}

Task<Result<bool>> SmallTransaction::has_queues() {
  std::set<std::string> queues;
  for (const auto& step : steps_) {
    if (const auto* message = std::get_if<FilledMessage>(&step)) queues.insert(message->queue);
  }
  puts_ = !queues.empty();
  for (const auto& queue : queues) {
    if (!co_await job_.calls.figures(queue)) co_return false;
  }
  co_return true;
}

Task<Result<bool>> SmallTransaction::decide(jobs::GuardsRead read) {
  StepsRequest request;
  request.at = CO_TRY(jobs::deciding_place(job_.spec, job_.fence.operation_id));
  request.deciding = table_store::Deciding::kGoesAhead;
  request.note = jobs::decision_note(job_.spec, read.values);
  request.guards = std::move(read.guards);
  const auto taken = CO_TRY(co_await take(std::move(request)));
  co_return taken.decision && !taken.decided_before;
}

Task<Result<StepsTaken>> SmallTransaction::take(StepsRequest request) {
  auto next = next_;
  for (; next < steps_.size(); ++next) {
    const auto* step = std::get_if<FilledEntityStep>(&steps_[next]);
    if (step == nullptr) break;
    request.steps.push_back(step->change);
  }
  if (next == steps_.size()) {
    // Once the record says that the job has ended, nobody looks after its operations any more.
    if (puts_) {
      auto closed = job_.calls.close_queues(job_.fence.operation_id, job_.fence.epoch, 0);
      CO_TRY(co_await fail_points::kBatchClose.around(std::move(closed)));
      puts_ = false;
    }
    request.companion = job_.end(steps_.size());
    if (!request.companion) co_return fail(ErrorCode::kFenced);
  }
  if (!job_.in_time()) co_return fail(ErrorCode::kLeaseLost);
  request.fence = job_.fence;
  auto reply = CO_TRY(co_await fail_points::kBatchSteps.around(job_.calls.take_steps(std::move(request))));
  if (auto* failure = std::get_if<table_store::StepFailure>(&reply)) co_return fail(std::move(failure->error));
  auto& taken = std::get<StepsTaken>(reply);
  next_ += taken.taken;
  ended_ = taken.ended;
  co_return std::move(taken);
}

Task<Result<void>> SmallTransaction::put(const FilledMessage& step) {
  if (!job_.in_time()) co_return fail(ErrorCode::kLeaseLost);
  auto message = step.message;
  message.step = queue_service::PutStep{job_.fence, static_cast<std::uint32_t>(next_ + 1)};
  CO_TRY(co_await fail_points::kBatchMessage.around(job_.calls.put(step.queue, std::move(message))));
  ++next_;
  co_return Result<void>{};
}

}  // namespace tidemark::workers
