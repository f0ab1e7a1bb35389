// Processes that share the shards of a store, simulated in one process.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "common/shards/owner_calls.h"

namespace tidemark::kv {

class TestOwners final : public shards::OwnerCalls {
 public:
  /// The process that serves each shard; null: nobody. Shared by all processes, and outlives them.
  using Places = std::vector<TestOwners*>;
  explicit TestOwners(Places& places) : places_(places) {}

  [[nodiscard]] bool here(std::size_t shard) const override { return places_[shard] == this; }
  [[nodiscard]] bool leased(std::size_t shard) const override { return here(shard); }

  std::function<void()> before_next;  // is called before the next step that is passed on, once
  std::size_t passed_on = 0;

 private:
  Task<Result<std::optional<std::string>>> pass_on(std::size_t shard, const std::string& name,
                                                   const std::string& payload) override {
    ++passed_on;
    auto* const other = places_[shard];
    if (auto before = std::exchange(before_next, nullptr)) before();
    if (other == nullptr) co_return fail(ErrorCode::kServerBusy);
    co_return CO_TRY(co_await other->perform(shard, name, payload));
  }

  Places& places_;
};

}  // namespace tidemark::kv
