// Which function carries out which call (client/queue_calls.h, owner_calls.h), and QueueService::call().
#pragma once
#include "common/rpc/gathered.h"
#include "queue_service/storage/owner_calls.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service {

/// Functions that translate a call, or its result.
namespace handlers {
Result<calls::ListQueues::Reply> list_queues(QueueService& service, const calls::ListQueues& call);
Task<Result<Placed>> put(QueueService& service, calls::Put call);
Task<Result<std::vector<TakenMessage>>> receive(QueueService& service, calls::Receive call);
std::vector<Message> messages_of(std::vector<TakenMessage> taken);
Task<Result<std::vector<TakenMessage>>> take(QueueService& service, calls::Take call);
Result<void> cancel_wait_here(QueueService& service, const calls::CancelWaitHere& call);
Task<Result<Arrived>> arrive(QueueService& service, calls::Arrive call);
calls::Arrive::Reply outcomes_of(Arrived arrived);
Task<Result<std::vector<bool>>> complete_all(QueueService& service, calls::CompleteAll call);
Task<Result<std::vector<bool>>> renew_all(QueueService& service, calls::RenewAll call);
Task<Result<std::vector<Placed>>> finish(QueueService& service, calls::Finish call);
Result<MessagePage> list(QueueService& service, const calls::ListMessages& call);
Task<Result<QueueFiguresPage>> all_figures(QueueService& service, calls::AllFigures call);
Task<Result<void>> set_paused(QueueService& service, calls::SetPaused call);
Task<Result<void>> set_parts(QueueService& service, calls::SetParts call);
Task<Result<void>> set_service_properties(QueueService& service, calls::SetServiceProperties call);
constexpr bool is_new(CreateOutcome outcome) { return outcome == CreateOutcome::kCreated; }
}  // namespace handlers

// clang-format off
using ServedCalls = rpc::Served<
    // Queues.
    rpc::By<calls::CreateQueue, &QueueService::create_queue, &handlers::is_new>,
    rpc::By<calls::EnsureQueue, &QueueService::ensure_queue>,
    rpc::By<calls::DeleteQueue, &QueueService::delete_queue>,
    rpc::By<calls::ListQueues, &handlers::list_queues>,
    rpc::By<calls::GetProperties, &QueueService::get_properties>,
    rpc::By<calls::SetMetadata, &QueueService::set_metadata>,
    rpc::By<calls::PatchMetadata, &QueueService::patch_metadata>,
    rpc::By<calls::SetPaused, &handlers::set_paused>,
    rpc::By<calls::SetParts, &handlers::set_parts>,
    rpc::By<calls::GetAcl, &QueueService::get_acl>,
    rpc::By<calls::SetAcl, &QueueService::set_acl>,
    rpc::By<calls::SetServiceProperties, &handlers::set_service_properties>,
    rpc::By<calls::Clear, &QueueService::clear>,
    rpc::By<calls::MakePart, &QueueService::make_part>,
    rpc::By<calls::DropPart, &QueueService::drop_part>,
    // Messages.
    rpc::By<calls::Put, &handlers::put>,
    rpc::By<rpc::Several<calls::Put>, rpc::carry_out_each<calls::Put>>,
    rpc::By<calls::PutIntoPart, &QueueService::put>,
    rpc::By<calls::Receive, &handlers::receive, &handlers::messages_of>,
    rpc::By<calls::Take, &handlers::take>,
    rpc::By<calls::CancelWait, &QueueService::cancel_wait_anywhere>,
    rpc::By<calls::CancelWaitHere, &handlers::cancel_wait_here>,
    rpc::By<calls::GiveBack, &QueueService::give_back>,
    rpc::By<calls::Peek, &QueueService::peek>,
    rpc::By<calls::Update, &QueueService::update>,
    rpc::By<calls::Renew, &QueueService::renew>,
    rpc::By<calls::Release, &QueueService::release>,
    rpc::By<calls::Complete, &QueueService::erase>,
    rpc::By<calls::CompleteAll, &handlers::complete_all>,
    rpc::By<calls::RenewAll, &handlers::renew_all>,
    rpc::By<calls::Finish, &handlers::finish>,
    rpc::By<calls::Move, &QueueService::move>,
    rpc::By<calls::Arrive, &handlers::arrive, &handlers::outcomes_of>,
    // Messages, by name.
    rpc::By<calls::Holds, &QueueService::holds>,
    rpc::By<calls::Withdraw, &QueueService::withdraw>,
    rpc::By<calls::WithdrawHere, &QueueService::withdraw_here>,
    rpc::By<calls::ListMessages, &handlers::list>,
    rpc::By<calls::Find, &QueueService::find>,
    rpc::By<calls::Remove, &QueueService::remove>,
    rpc::By<calls::RemoveFromPart, &QueueService::remove>,
    rpc::By<calls::Redrive, &QueueService::redrive>,
    rpc::By<calls::RedriveFromPart, &QueueService::redrive>,
    // Steps of transactions.
    rpc::By<calls::OpenOperation, &QueueService::open_operation>,
    rpc::By<calls::CloseOperation, &QueueService::close_operation>,
    rpc::By<rpc::Several<calls::CloseOperation>, rpc::carry_out_each<calls::CloseOperation>>,
    rpc::By<::tidemark::shards::calls::ChangeLedger, &QueueService::change_ledger>,
    // Figures.
    rpc::By<calls::Figures, &QueueService::figures>,
    rpc::By<rpc::Several<calls::Figures>, rpc::carry_out_each<calls::Figures>>,
    rpc::By<calls::AllFigures, &handlers::all_figures>>;
// clang-format on

/// Brings messages that departed from one shard to another process, which serves the other shard.
Task<Result<Arrived>> arrive_elsewhere(shards::Peers& peers, std::size_t to_shard, std::size_t from_shard,
                                       const std::vector<Departed>& departed);

template <class Call>
Task<Result<typename Call::Reply>> QueueService::call(Call call) {
  if constexpr (requires { call.place(); }) {
    if constexpr (std::same_as<decltype(call.place()), calls::WholeQueue>) {
      if (auto checked = check_is_whole(call.queue); !checked) return shards::refuse<Call>(std::move(checked.error()));
    }
    shards::CallPlace place{.shard = shard_at(call.place()), .deadline = shards::kLongestCall};
    if constexpr (requires { call.wait; }) place.deadline += call.wait;
    return shards::carry_out_at<ServedCalls>(*this, shards(), peers(), place, std::move(call));
  } else {
    return ServedCalls::carry_out<Call>(*this, std::move(call));
  }
}

}  // namespace tidemark::queue_service
