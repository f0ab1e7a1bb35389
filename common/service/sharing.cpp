#include "common/service/sharing.h"

#include "common/base/log.h"
#include "common/process/metrics.h"
#include "common/service/other_hosts.h"
#include "common/service/store_process.h"

namespace tidemark::service {
namespace {

/// How soon a process heeds service properties that another process has changed.
constexpr Duration kHeedProperties = std::chrono::seconds(5);

std::unique_ptr<rpc::Transport> open_link(const ListenSettings& listen, const std::string& address) {
  auto link = open_peer(listen, address);
  if (!link) log_error("a process of this store cannot be reached reason=\"{}\"", link.error().message);
  return link ? std::move(*link) : nullptr;
}

}  // namespace

Sharing::Sharing(kv::ShardOwners& owners, Clock& clock, Executor executor, const StoreSettings& settings)
    : owners_(owners),
      clock_(clock),
      executor_(executor),
      settings_(settings),
      router_(owners, clock, std::move(executor),
              [&settings](const std::string& address) { return open_link(settings.listen, address); }) {}

rpc::Dispatch Sharing::around(rpc::Dispatch own) {
  return router_.around([this, own = std::move(own)](const std::string& method, std::string payload) {
    return method.starts_with("analytics.") ? answer_by_first(own, method, std::move(payload))
                                            : own(method, std::move(payload));
  });
}

Task<Result<std::string>> Sharing::answer_by_first(rpc::Dispatch own, std::string method, std::string payload) {
  auto reply = router_.here(0) ? std::nullopt : CO_TRY(co_await router_.forward({.shard = 0}, method, payload));
  if (reply) co_return std::move(*reply);
  co_return co_await own(std::move(method), std::move(payload));
}

Result<void> Sharing::claim(const rpc::Server& server, const std::string& local,
                            const std::shared_ptr<Signal>& stopping) {
  auto address = TRY(peer_address(settings_.listen, settings_.peer_address, server.tcp_address(), local));
  TRY(owners_.start(std::move(address), {.gained = [this](std::size_t shard) { store_->gained(shard); },
                                         .lost = [this](std::size_t shard) { store_->lost(shard); },
                                         .seen = [this] { router_.seen(); },
                                         .moved = [this] { router_.moved(); }}));
  spawn(executor_, heed_properties(stopping));
  return {};
}

Task<void> Sharing::heed_properties(std::shared_ptr<Signal> stopping) {
  while (!co_await stopping->wait(clock_, kHeedProperties)) store_->front().read_properties_again();
}

std::vector<prometheus::MetricFamily> Sharing::figures() const {
  constexpr auto kCounter = prometheus::MetricType::Counter;
  return {process::figure("tidemark_forwarded_total", "Calls passed on to the process with their shard.", kCounter,
                          static_cast<double>(router_.forwarded())),
          process::figure("tidemark_forwarded_missed_total", "Those that found their shard there no more.", kCounter,
                          static_cast<double>(router_.missed()))};
}

}  // namespace tidemark::service
