// Processes that share the shards of a store, simulated in one process.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "common/shards/peers.h"

namespace tidemark::kv {

class TestOwners final : public shards::Peers {
 public:
  /// The process that serves each shard; null: nobody. Shared by all processes, and outlives them.
  using Places = std::vector<TestOwners*>;
  explicit TestOwners(Places& places) : places_(places) {}

  [[nodiscard]] bool here(std::size_t shard) const override { return places_[shard] == this; }
  [[nodiscard]] bool leased(std::size_t shard) const override { return here(shard); }
  [[nodiscard]] const std::string& process() const override { return name_; }
  [[nodiscard]] bool lives(const std::string&) const override { return true; }
  Task<Result<std::optional<std::string>>> forward(shards::CallPlace place, std::string method,
                                                   std::string payload) override {
    ++passed_on;
    auto* const other = places_[place.shard];
    if (auto before = std::exchange(before_next, nullptr)) before();
    if (other == nullptr) co_return fail(ErrorCode::kServerBusy);
    co_return CO_TRY(co_await other->dispatch(method, std::move(payload)));
  }
  Task<void> tell_others(std::string, std::string) override { co_return; }

  rpc::Dispatch dispatch;             // answers the calls of the others
  std::function<void()> before_next;  // is called before the next call that is passed on, once
  std::size_t passed_on = 0;

 private:
  Places& places_;
  const std::string name_ = "process";
};

}  // namespace tidemark::kv
