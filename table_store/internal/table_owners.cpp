#include "table_store/internal/table_owners.h"

#include <algorithm>
#include <map>

#include "common/base/side_by_side.h"
#include "common/rpc/wire.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

using Outcomes = calls::MutateAll::Reply;

constexpr const char* kMutateStep = "table.mutate_all";

/// Calls whose first fields are an account, a table and a PartitionKey.
constexpr std::string_view kOfPartition[] = {calls::Get::kMethod, calls::GetAll::kMethod, calls::Mutate::kMethod};
/// Calls whose first fields are an account and the id of an operation.
constexpr std::string_view kOfOperation[] = {calls::OpenOperation::kMethod, calls::CloseOperation::kMethod,
                                             calls::Count::kMethod, calls::ForgetOperation::kMethod};
constexpr std::string_view kOfCatalogue[] = {
    calls::CreateTable::kMethod, calls::DeleteTable::kMethod, calls::DeleteTableFenced::kMethod, calls::Follow::kMethod,
    calls::Unfollow::kMethod,    calls::PutFeed::kMethod,     calls::DropFeed::kMethod};

bool is_one_of(std::span<const std::string_view> methods, std::string_view method) {
  return std::ranges::find(methods, method) != methods.end();
}

}  // namespace

std::optional<std::size_t> shard_of_call(const TableService& service, std::string_view method,
                                         std::string_view payload) {
  if (is_one_of(kOfCatalogue, method)) return 0;
  const bool of_partition = is_one_of(kOfPartition, method);
  if (!of_partition && !is_one_of(kOfOperation, method)) return std::nullopt;
  ByteReader in(payload);
  const auto account = in.string();
  const auto name = in.string();
  const auto partition_key = of_partition ? in.string() : std::string_view();
  if (!in.ok()) return std::nullopt;  // the handler of the call reports that
  return of_partition ? service.shard_of(account, name, partition_key) : service.home_of(account, name);
}

TableOwners::TableOwners(TableService& service, kv::OwnerCalls& owners, Clock& clock)
    : service_(service), owners_(owners), clock_(clock) {
  owners_.offer(kMutateStep, [this](std::size_t, std::string payload) -> Task<Result<std::string>> {
    auto part = wire::decode<calls::MutateAll>(std::exchange(payload, {}));
    if (!part) co_return fail(error_for_log(ErrorCode::kInvalidInput, "malformed changes of another process"));
    co_return wire::encode<Outcomes>(CO_TRY(
        co_await service_.mutate_all(std::move(part->account), std::move(part->partitions), std::move(part->fence))));
  });
}

rpc::Dispatch TableOwners::around(rpc::Dispatch face) {
  return [this, face = std::move(face)](const std::string& method, std::string payload) {
    if (method == calls::MutateAll::kMethod) return answer_mutate_all(std::move(payload));
    return face(method, std::move(payload));
  };
}

Task<Result<std::string>> TableOwners::answer_mutate_all(std::string payload) {
  auto call = wire::decode<calls::MutateAll>(std::exchange(payload, {}));
  if (!call) co_return fail(error_for_log(ErrorCode::kInvalidInput, "malformed call of table.mutate_all"));
  co_return wire::encode<Outcomes>(CO_TRY(co_await mutate_all(std::move(*call))));
}

Task<Result<Outcomes>> TableOwners::mutate_all(calls::MutateAll call) {
  std::map<std::size_t, std::vector<std::size_t>> of_shards;  // the places of the shards' partitions in the call
  for (std::size_t i = 0; i < call.partitions.size(); ++i) {
    const auto& partition = call.partitions[i];
    of_shards[service_.shard_of(call.account, partition.table, partition.partition_key)].push_back(i);
  }
  if (of_shards.empty()) co_return fail(ErrorCode::kInvalidInput);
  const std::vector<std::pair<std::size_t, std::vector<std::size_t>>> parts(of_shards.begin(), of_shards.end());
  Outcomes outcomes(call.partitions.size());
  const Step make = [&](std::size_t number) -> Task<Result<void>> {
    const auto& [shard, places] = parts[number];
    calls::MutateAll part{call.account, {}, call.fence};
    for (const auto place : places) part.partitions.push_back(std::move(call.partitions[place]));
    const auto answer = co_await owners_.ask(shard, kMutateStep, wire::encode(part));
    auto made = answer ? wire::decode<Outcomes>(*answer) : std::nullopt;
    if (answer && (!made || made->size() != places.size())) co_return fail(ErrorCode::kInternalError);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (made) {
        outcomes[places[i]] = std::move((*made)[i]);
      } else {
        outcomes[places[i]] = fail(answer.error());
      }
    }
    co_return Result<void>{};
  };
  CO_TRY(co_await side_by_side(clock_, parts.size(), make, parts.size()));
  co_return outcomes;
}

}  // namespace tidemark::table_store
