// The processes that share the shards of a store (docs/scale.md, Owners), as the service of one of them sees the
// others. A service carries out a typed call (common/rpc/call.h) in the process that serves the call's shard.
#pragma once
#include <optional>
#include <string>

#include "common/base/async.h"
#include "common/rpc/call.h"

namespace tidemark::shards {

/// The deadline of a call that a request of a client waits for.
inline constexpr Duration kLongestCall = std::chrono::seconds(30);

/// The shard that a call belongs to.
struct CallPlace {
  std::size_t shard = 0;
  Duration deadline = std::chrono::seconds(10);  // of the call, if it is passed on
};

/// The other processes. Thread safe; coroutines resume on the caller's executor.
class Peers {
 public:
  Peers() = default;
  virtual ~Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Tells whether this process serves the shard.
  [[nodiscard]] virtual bool here(std::size_t shard) const = 0;
  /// Tells the same, and that no other process can have taken the shard yet, so that remembered data of the shard is
  /// valid. Call it after reading that data.
  [[nodiscard]] virtual bool leased(std::size_t shard) const = 0;
  /// Returns the name of this process.
  [[nodiscard]] virtual const std::string& process() const = 0;
  /// Tells whether there is a living process with this name, as far as this one knows.
  [[nodiscard]] virtual bool lives(const std::string& process) const = 0;
  /// Returns the reply of the process that serves the shard; nothing if this process serves it. kServerBusy: no process
  /// serves it now, or it is unknown whether the call was carried out.
  virtual Task<Result<std::optional<std::string>>> forward(CallPlace place, std::string method,
                                                           std::string payload) = 0;
  /// Tells all other processes, one after another; skips those that do not answer.
  virtual Task<void> tell_others(std::string method, std::string payload) = 0;
};

/// Makes a call in the other process that serves the shard. kServerBusy, also if the shard has come here meanwhile.
template <class Call>
Task<Result<typename Call::Reply>> call_elsewhere(Peers& peers, CallPlace place, Call call) {
  auto reply = CO_TRY(co_await peers.forward(place, std::string(Call::kMethod), wire::encode(call)));
  if (!reply) co_return fail(ErrorCode::kServerBusy);
  co_return rpc::reply_of<Call>(*reply);
}

namespace detail {

template <class Call, class Serve>
Task<Result<typename Call::Reply>> carry_out_elsewhere(Peers& peers, CallPlace place, Call call, Serve serve) {
  auto reply = CO_TRY(co_await peers.forward(place, std::string(Call::kMethod), wire::encode(call)));
  if (!reply) co_return co_await serve(std::move(call));
  co_return rpc::reply_of<Call>(*reply);
}

}  // namespace detail

/// Carries a call out: by `serve`, a function of the call, if this process serves the shard or has no peers (null).
template <class Call, class Serve>
Task<Result<typename Call::Reply>> carry_out(Peers* peers, CallPlace place, Call&& call, Serve serve) {
  if (peers == nullptr || peers->here(place.shard)) return serve(std::forward<Call>(call));
  return detail::carry_out_elsewhere(*peers, place, std::forward<Call>(call), std::move(serve));
}

template <class Call>
Task<Result<typename Call::Reply>> refuse(Error why) {
  co_return fail(std::move(why));
}

/// Carries out one of the calls that a service serves (rpc::Served). kInvalidInput for a shard that does not exist.
template <class Served, class Service, class Call>
Task<Result<typename Call::Reply>> carry_out_at(Service& service, std::size_t shards, Peers* peers, CallPlace place,
                                                Call&& call) {
  if (place.shard >= shards) return refuse<Call>(make_error(ErrorCode::kInvalidInput));
  const auto serve = [&service](Call&& here) { return Served::template carry_out<Call>(service, std::move(here)); };
  return carry_out(peers, place, std::forward<Call>(call), serve);
}

}  // namespace tidemark::shards
