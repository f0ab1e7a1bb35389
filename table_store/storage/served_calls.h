// Which function carries out which call (client/table_calls.h, owner_calls.h), and TableService::call().
#pragma once
#include "common/rpc/gathered.h"
#include "table_store/client/listing_client.h"
#include "table_store/storage/owner_calls.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

/// Functions that translate a call, or its result.
namespace handlers {
Task<Result<bool>> exists(TableService& service, calls::TableExists call);
Task<Result<TablePage>> list(TableService& service, calls::ListTables call);
Result<std::vector<std::optional<Entity>>> get_all(TableService& service, const calls::GetAll& call);
Task<Result<QueryPage>> query(TableService& service, calls::Query call);
Task<Result<calls::Mutate::Reply>> mutate(TableService& service, calls::Mutate call);
/// Makes the call's part on each shard in the process that serves the shard, all of them side by side.
Task<Result<calls::MutateAll::Reply>> mutate_all(TableService& service, calls::MutateAll call);
Task<Result<calls::MutateAll::Reply>> mutate_on(TableService& service, calls::MutateOn call);
Task<Result<ListedPage>> find_listed(TableService& service, calls::FindListed call);
Task<Result<void>> set_service_properties(TableService& service, calls::SetServiceProperties call);
}  // namespace handlers

// clang-format off
using ServedCalls = rpc::Served<
    rpc::By<calls::Get, &TableService::get>,
    rpc::By<rpc::Several<calls::Get>, rpc::carry_out_each<calls::Get>>,
    rpc::By<calls::GetAll, &handlers::get_all>,
    rpc::By<calls::Query, &handlers::query>,
    rpc::By<calls::Mutate, &handlers::mutate>,
    rpc::By<calls::MutateAll, &handlers::mutate_all>,
    rpc::By<calls::FindRows, &TableService::find_rows>,
    rpc::By<calls::FindListed, &handlers::find_listed>,
    rpc::By<calls::FindCopies, &TableService::find_copies>,
    rpc::By<calls::Follow, &TableService::follow>,
    rpc::By<calls::Unfollow, &TableService::unfollow>,
    rpc::By<calls::Followers, &TableService::followers>,
    rpc::By<calls::FollowedTables, &TableService::followed_tables>,
    rpc::By<calls::ChangedEntities, &TableService::changed_entities>,
    rpc::By<calls::Acknowledge, &TableService::acknowledge>,
    rpc::By<calls::PutFeed, &TableService::put_feed>,
    rpc::By<calls::DropFeed, &TableService::drop_feed>,
    rpc::By<calls::GetFeed, &TableService::feed_status>,
    rpc::By<calls::ReadChanges, &TableService::changes>,
    rpc::By<calls::MoveAll, &TableService::move_all>,
    rpc::By<calls::TakeSteps, &TableService::take_steps>,
    rpc::By<rpc::Several<calls::TakeSteps>, rpc::carry_out_each<calls::TakeSteps>>,
    rpc::By<calls::OpenOperation, &TableService::open_operation>,
    rpc::By<calls::CloseOperation, &TableService::close_operation>,
    rpc::By<calls::ReadOperation, &TableService::read_operation>,
    rpc::By<calls::AgeNow, &TableService::age_now>,
    rpc::By<calls::ForgetOperation, &TableService::forget_operation>,
    rpc::By<calls::Count, &TableService::count>,
    rpc::By<calls::CreateTable, &TableService::create_table>,
    rpc::By<calls::DeleteTable, &TableService::delete_table>,
    rpc::By<calls::DeleteTableFenced, &TableService::delete_table_fenced>,
    rpc::By<calls::TableExists, &handlers::exists>,
    rpc::By<calls::ListTables, &handlers::list>,
    rpc::By<calls::MutateOn, &handlers::mutate_on>,
    rpc::By<calls::AcknowledgeOn, &TableService::acknowledge_on>,
    rpc::By<calls::AwaitChange, &TableService::await_change>,
    rpc::By<shards::calls::ChangeLedger, &TableService::change_ledger>,
    rpc::By<shards::calls::FollowMark, &shards::follow_mark<TableService>>,
    rpc::By<shards::calls::FinishChange, &shards::finish_change<TableService>>,
    rpc::By<calls::GetAcl, &TableService::get_acl>,
    rpc::By<calls::SetAcl, &TableService::set_acl>,
    rpc::By<calls::SetServiceProperties, &handlers::set_service_properties>>;
// clang-format on

template <class Call>
Task<Result<typename Call::Reply>> TableService::call(Call call) {
  if constexpr (requires { call.place(); }) {
    const shards::CallPlace place{.shard = shard_at(call.place()), .deadline = shards::kLongestCall};
    return shards::carry_out_at<ServedCalls>(*this, shards_.size(), shards_.peers(), place, std::move(call));
  } else {
    return ServedCalls::carry_out<Call>(*this, std::move(call));
  }
}

}  // namespace tidemark::table_store
