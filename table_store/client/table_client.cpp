#include "table_store/client/table_client.h"

#include <limits>

namespace tidemark::table_store {

namespace {

template <typename Call>
Task<Result<std::vector<std::string>>> names_of_all_pages(const rpc::Caller& caller) {
  std::vector<std::string> names;
  std::optional<std::string> from = std::string();
  while (from) {
    auto page = CO_TRY(co_await rpc::call(caller, Call{caller.account, *from}));
    std::move(page.names.begin(), page.names.end(), std::back_inserter(names));
    from = std::move(page.next);
  }
  co_return names;
}

}  // namespace

Task<Result<std::vector<std::string>>> TableClient::list_tables() {
  return names_of_all_pages<calls::ListTables>(caller_);
}

Task<Result<std::vector<std::string>>> TableClient::followed_tables() {
  return names_of_all_pages<calls::FollowedTables>(caller_);
}

Task<Result<std::vector<std::optional<Entity>>>> TableClient::get_all(std::string table, std::string partition_key,
                                                                      std::vector<std::string> row_keys) {
  const calls::GetAll all{caller_.account, std::move(table), std::move(partition_key), std::move(row_keys)};
  auto entities = CO_TRY(co_await rpc::call(caller_, all));
  if (entities.size() != all.row_keys.size()) co_return fail(ErrorCode::kInternalError);
  co_return entities;
}

Task<MutationResult<std::vector<MutationOutcome>>> TableClient::mutate(std::string table, std::string partition_key,
                                                                       std::vector<Mutation> mutations,
                                                                       std::optional<Fence> fence) {
  const calls::Mutate all{caller_.account, std::move(table), std::move(partition_key), std::move(mutations),
                          std::move(fence)};
  auto reply = CO_TRY(co_await rpc::call(caller_, all));
  if (auto* failed = std::get_if<calls::MutationFailure>(&reply)) {
    co_return std::unexpected(MutationError(std::move(failed->error), failed->index));
  }
  co_return std::get<std::vector<MutationOutcome>>(std::move(reply));
}

Task<Result<calls::MutateAll::Reply>> TableClient::mutate_all_of(const calls::MutateAll& call) {
  return rpc::call(caller_, call);
}

Task<Result<std::vector<Result<void>>>> TableClient::move_all(std::vector<Move> moves) {
  const auto asked = moves.size();
  auto outcomes = CO_TRY(co_await rpc::call(caller_, calls::MoveAll{caller_.account, std::move(moves)}));
  if (outcomes.size() != asked) co_return fail(ErrorCode::kInternalError);
  co_return outcomes;
}

Task<Result<void>> TableClient::end_operation(std::string id) {
  auto closed = co_await close_operation(std::move(id), std::numeric_limits<std::int64_t>::max(), 0);
  if (!closed && !closed.failed_with(ErrorCode::kFenced)) co_return fail(std::move(closed.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::table_store
