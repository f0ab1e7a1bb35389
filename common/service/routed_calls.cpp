#include "common/service/routed_calls.h"

#include "common/rpc/wire.h"

namespace tidemark::service {
namespace {

constexpr std::string_view kMethod = "owners.step";

struct AskedStep {
  std::uint64_t shard = 0;
  std::string name, payload;
};

}  // namespace

Task<Result<std::optional<std::string>>> RoutedCalls::pass_on(std::size_t shard, const std::string& name,
                                                              const std::string& payload) {
  return router_.forward({.shard = shard}, std::string(kMethod), wire::encode(AskedStep{shard, name, payload}));
}

rpc::Dispatch RoutedCalls::beside(rpc::Dispatch store) {
  return [this, store = std::move(store)](const std::string& method, std::string payload) {
    return method == kMethod ? answer(std::move(payload)) : store(method, std::move(payload));
  };
}

Task<Result<std::string>> RoutedCalls::answer(std::string payload) {
  auto asked = wire::decode<AskedStep>(std::exchange(payload, {}));
  if (!asked) co_return fail(error_for_log(ErrorCode::kInvalidInput, "malformed call of another process"));
  co_return co_await perform(asked->shard, asked->name, std::move(asked->payload));
}

}  // namespace tidemark::service
