// Finds the process that serves a shard, and passes calls on to it (docs/scale.md, Owners). A call is passed on at most
// once: a process that gets one for a shard that it does not serve says so and does nothing, and the first process
// looks up who has the shard now. Thread safe; coroutines resume on the caller's executor.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/shards/peers.h"
#include "common/shards/shard_places.h"

namespace tidemark::shards {

class ShardRouter final : public Peers {
 public:
  /// Opens a link to a process by the address that it is known by; null: no link is possible.
  using OpenLink = std::function<std::unique_ptr<rpc::Transport>(const std::string& address)>;
  /// All arguments must outlive it.
  ShardRouter(ShardPlaces& places, Clock& clock, Executor executor, OpenLink open_link);

  [[nodiscard]] bool here(std::size_t shard) const override { return places_.place_of(shard).here; }
  /// Returns the process that serves the shard. Waits for a moment while there is none. kServerBusy if that lasts.
  Task<Result<ShardPlaces::Place>> find(std::size_t shard);
  [[nodiscard]] bool leased(std::size_t shard) const override { return places_.leased(shard); }
  [[nodiscard]] const std::string& process() const override { return places_.process(); }
  [[nodiscard]] bool lives(const std::string& process) const override;
  Task<Result<std::optional<std::string>>> forward(CallPlace place, std::string method, std::string payload) override;
  Task<void> tell_others(std::string method, std::string payload) override;

  /// The answer of another live process. All are asked side by side, with a call that any of them can answer.
  struct Answer {
    std::string address;
    Result<std::string> reply;
  };
  Task<std::vector<Answer>> ask_others(std::string method, std::string payload, Duration within);
  /// Does ShardPlaces::wish(), and waits until it is written. kServerBusy: the database did not confirm it in time.
  Task<Result<void>> wish(std::size_t shard, std::string process);

  /// Answers by `own`, except for calls that another process passed on for a shard that is not here. Must not outlive
  /// this.
  rpc::Dispatch around(rpc::Dispatch own);

  /// The places of shards may have changed: wakes the coroutines that wait for that.
  void seen() { seen_.notify_all(); }
  /// This process has claimed or released a shard: tells the others to look.
  void moved();
  /// Ends the links, and the waits for answers. Call before the executors are destroyed.
  void close();
  [[nodiscard]] std::uint64_t forwarded() const { return forwarded_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

 private:
  Task<Result<std::string>> answer(rpc::Dispatch own, std::string method, std::string payload);
  Task<Result<std::string>> call(std::shared_ptr<rpc::Transport> link, CallPlace place, std::string address,
                                 std::string method, std::string payload);
  std::shared_ptr<rpc::Transport> link(const std::string& address);

  ShardPlaces& places_;
  Clock& clock_;
  const Executor executor_;
  const OpenLink open_link_;
  Signal seen_;
  std::atomic<std::uint64_t> forwarded_{0}, missed_{0};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<rpc::Transport>> links_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::shards
