#include "common/shards/owner_calls.h"

namespace tidemark::shards {

void OwnerCalls::offer(std::string name, Step step) { steps_[std::move(name)] = std::move(step); }

Task<Result<std::string>> OwnerCalls::ask(std::size_t shard, std::string name, std::string payload) {
  if (!here(shard)) {
    auto answer = CO_TRY(co_await pass_on(shard, name, payload));
    if (answer) co_return std::move(*answer);
  }
  co_return co_await perform(shard, name, std::move(payload));
}

Task<Result<std::string>> OwnerCalls::perform(std::size_t shard, const std::string& name, std::string payload) {
  const auto step = steps_.find(name);
  if (step == steps_.end()) co_return fail(ErrorCode::kNotImplemented);
  co_return co_await step->second(shard, std::move(payload));
}

}  // namespace tidemark::shards
