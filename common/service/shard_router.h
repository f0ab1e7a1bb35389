// Finds the process that serves a shard, and passes on what came to another one (docs/scale.md, Owners). A call is
// passed on at most once: whoever gets one for a shard that it does not serve says so and does nothing, and the first
// one looks who has the shard now. Thread safe; coroutines resume on the caller's executor.
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
#include "common/kv/shard_places.h"
#include "common/rpc/transport.h"

namespace tidemark::service {

/// A call that belongs to one shard.
struct CallPlace {
  std::size_t shard = 0;
  Duration deadline = std::chrono::seconds(10);  // of the call, should it be passed on
};

class ShardRouter {
 public:
  /// A link to a process by the address that it is known by; null: there can be none.
  using OpenLink = std::function<std::unique_ptr<rpc::Transport>(const std::string& address)>;
  /// All must outlive it.
  ShardRouter(kv::ShardPlaces& places, Clock& clock, Executor executor, OpenLink open_link);

  [[nodiscard]] bool here(std::size_t shard) const { return places_.place_of(shard).here; }
  /// Waits for a moment while nobody serves the shard. kServerBusy if that does not change.
  Task<Result<kv::ShardPlaces::Place>> find(std::size_t shard);
  /// The reply of the process that serves the shard; nothing: this one does. kServerBusy.
  /// `answered_by`: becomes the address of that process.
  Task<Result<std::optional<std::string>>> forward(CallPlace place, std::string method, std::string payload,
                                                   std::string* answered_by = nullptr);
  /// Goes on with what forward() began, at the process that has answered that, as long as it lives, and, if a shard is
  /// named, may have that. kServerBusy.
  Task<Result<std::string>> ask(std::string address, std::string method, std::string payload, Duration deadline,
                                std::optional<std::size_t> shard = std::nullopt);
  /// Whether there is another process with this name, as far as this one knows.
  [[nodiscard]] bool lives(const std::string& process) const;
  /// All other processes are told, one after another; who does not answer is left out.
  Task<void> tell_others(std::string method, std::string payload);

  /// What every other process that lives answers, side by side, to a call that any of them can answer.
  struct Answer {
    std::string address;
    Result<std::string> reply;
  };
  Task<std::vector<Answer>> ask_others(std::string method, std::string payload, Duration within);
  /// As ShardPlaces::wish(), and waits until it is written. kServerBusy: the database did not confirm it in time.
  Task<Result<void>> wish(std::size_t shard, std::string process);

  /// Where a call belongs; nothing: it can be answered anywhere.
  using PlaceOf = std::function<std::optional<CallPlace>(std::string_view method, std::string_view payload)>;
  /// Answers what is here, or may be answered anywhere, by `own`, and passes the rest on. Must not outlive this.
  rpc::Dispatch around(rpc::Dispatch own, PlaceOf place_of);

  /// What places() says may be new: whoever waits for it looks.
  void seen() { seen_.notify_all(); }
  /// This process has claimed something, or let go of it: the others are told to look.
  void moved();
  /// Ends the links, and what waits for an answer; before the executors go.
  void close();
  [[nodiscard]] std::uint64_t forwarded() const { return forwarded_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  [[nodiscard]] const kv::ShardPlaces& places() const { return places_; }

 private:
  Task<Result<std::string>> answer(rpc::Dispatch own, PlaceOf place_of, std::string method, std::string payload);
  Task<Result<std::string>> call(std::shared_ptr<rpc::Transport> link, CallPlace place, std::string address,
                                 std::string method, std::string payload);
  std::shared_ptr<rpc::Transport> link(const std::string& address);

  kv::ShardPlaces& places_;
  Clock& clock_;
  const Executor executor_;
  const OpenLink open_link_;
  Signal seen_;
  std::atomic<std::uint64_t> forwarded_{0}, missed_{0};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<rpc::Transport>> links_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::service
