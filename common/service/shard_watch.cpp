#include "common/service/shard_watch.h"

#include <algorithm>

#include "common/process/failures.h"
#include "common/rpc/call.h"

namespace tidemark::service {
namespace {

constexpr Duration kSampleEvery = std::chrono::seconds(2);
/// A rate covers the last ten seconds.
constexpr std::size_t kSamples = 6;
constexpr Duration kSizesEvery = std::chrono::seconds(10);
constexpr Duration kAskWithin = std::chrono::seconds(1);
constexpr std::size_t kShownNames = 8;

using ShardFace = rpc::Face<ShardWatch>;
Task<Result<StoreShards>> read(ShardWatch& watch, const calls::ReadShards&) { return watch.read(); }
Result<std::vector<ShardLoad>> own_loads(ShardWatch& watch, const calls::ReadOwnLoads&) { return watch.own_loads(); }
Task<Result<void>> wish(ShardWatch& watch, calls::WishShard call) {
  return watch.wish(call.shard, std::move(call.process));
}

constexpr ShardFace::Handler kShardHandlers[] = {ShardFace::on<calls::ReadShards, &read>(),
                                                 ShardFace::on<calls::ReadOwnLoads, &own_loads>(),
                                                 ShardFace::on<calls::WishShard, &wish>()};

}  // namespace

ShardWatch::ShardWatch(const shards::StoredShards& shards, std::string process, const kv::ShardOwners* owners,
                       shards::ShardRouter* router, ShardCounts counts, Clock& clock)
    : shards_(shards),
      process_(std::move(process)),
      owners_(owners),
      router_(router),
      counts_(std::move(counts)),
      clock_(clock),
      hot_(shards.size()),
      samples_(shards.size()) {}

Task<void> ShardWatch::run(std::shared_ptr<Signal> stopping) {
  for (bool stopped = false; !stopped;) {
    sample();
    stopped = co_await stopping->wait(clock_, kSampleEvery);
  }
}

/// A count that is lower than before comes from another engine, which this process has opened since.
void ShardWatch::sample() {
  const auto now = clock_.monotonic();
  const auto counts = counts_.transactions();
  const MutexLock lock(mutex_);
  for (std::size_t shard = 0; shard < samples_.size(); ++shard) {
    auto& samples = samples_[shard];
    const auto transactions = counts[shard];
    if (!samples.empty() && transactions < samples.back().transactions) samples.clear();
    samples.push_back({now, transactions});
    if (samples.size() > kSamples) samples.pop_front();
  }
}

std::optional<double> ShardWatch::rate_of(std::size_t shard) {
  const MutexLock lock(mutex_);
  const auto& samples = samples_[shard];
  if (samples.size() < 2) return std::nullopt;
  const auto took = std::chrono::duration<double>(samples.back().at - samples.front().at).count();
  return static_cast<double>(samples.back().transactions - samples.front().transactions) / took;
}

ShardLoad ShardWatch::load_of(std::size_t shard) {
  ShardLoad load{.shard = shard, .process = process_, .writes_per_s = rate_of(shard)};
  load.waiting = shards_[shard].queue_depth();
  load.served_for = clock_.monotonic() - began_;
  for (auto& hot : hot_[shard].most(kShownNames, std::chrono::steady_clock::now())) {
    load.hottest.push_back(
        {std::move(hot.name.account), std::move(hot.name.name), std::move(hot.name.part), hot.per_s});
  }
  return load;
}

Result<std::vector<ShardLoad>> ShardWatch::own_loads() {
  std::vector<ShardLoad> loads;
  if (owners_ == nullptr) {
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) loads.push_back(load_of(shard));
    return loads;
  }
  const auto shown = owners_->show();
  for (std::size_t shard = 0; shard < shown.size(); ++shard) {
    if (!shown[shard].here) continue;
    auto& load = loads.emplace_back(load_of(shard));
    load.epoch = shown[shard].epoch;
    load.served_for = std::chrono::duration_cast<Duration>(shown[shard].served_for);
    load.lease_left = std::chrono::duration_cast<Duration>(shown[shard].lease_left);
  }
  return loads;
}

Task<Result<StoreShards>> ShardWatch::read() {
  StoreShards out;
  out.places.resize(shards_.size());
  out.loads = CO_TRY(own_loads());
  add_sizes(out);
  if (router_ == nullptr) {
    out.processes.push_back({process_, {}});
    for (auto& place : out.places) place.process = process_;
    co_return out;
  }
  out.shared = true;
  const auto shown = owners_->show();
  for (std::size_t shard = 0; shard < shown.size(); ++shard) {
    auto& place = out.places[shard];
    place.process = shown[shard].process;
    place.epoch = shown[shard].epoch;
    place.wish = shown[shard].wish;
  }
  for (const auto& process : owners_->processes()) out.processes.push_back({process.name, process.address});
  co_await add_others(out);
  co_return out;
}

/// If another process also reports a shard that has come here since, this process's own report is the newer one.
Task<void> ShardWatch::add_others(StoreShards& shards) {
  const auto answers = co_await router_->ask_others(std::string(calls::ReadOwnLoads::kMethod),
                                                    wire::encode(calls::ReadOwnLoads{}), kAskWithin);
  for (const auto& [address, reply] : answers) {
    auto loads = reply ? wire::decode<std::vector<ShardLoad>>(*reply) : std::nullopt;
    const auto process = std::ranges::find(shards.processes, address, &StoreProcess::address);
    if (!loads && process != shards.processes.end()) {
      process->trouble = reply ? "It gave an answer that means nothing." : reply.error().message;
    }
    if (loads) std::ranges::move(*loads, std::back_inserter(shards.loads));
  }
}

/// Returns false while the database is away: asking it would block.
bool ShardWatch::is_time_for_sizes() {
  const bool away = shards_.failure() || (owners_ != nullptr && owners_->failure());
  const auto now = clock_.monotonic();
  const MutexLock lock(mutex_);
  if (away || (sizes_at_ && now - *sizes_at_ < kSizesEvery)) return false;
  sizes_at_ = now;
  return true;
}

/// A frequent caller gets the sizes found a moment ago, since asking a database takes a connection of its own.
void ShardWatch::add_sizes(StoreShards& shards) {
  if (is_time_for_sizes()) {
    auto sizes = counts_.sizes();
    if (!sizes) process::log_failed_task("shards.sizes", sizes.error());
    const MutexLock lock(mutex_);
    if (sizes) known_sizes_ = std::move(*sizes);
  }
  const MutexLock lock(mutex_);
  for (std::size_t shard = 0; shard < std::min(known_sizes_.size(), shards.places.size()); ++shard) {
    if (!known_sizes_[shard]) continue;
    shards.places[shard].rows = known_sizes_[shard]->rows;
    shards.places[shard].bytes = known_sizes_[shard]->bytes;
  }
}

Task<Result<void>> ShardWatch::wish(std::uint64_t shard, std::string process) {
  if (router_ == nullptr) {
    co_return fail(ErrorCode::kNotImplemented,
                   "The shards of this store are not shared: one process serves all of them (share_shards).");
  }
  co_return co_await router_->wish(shard, std::move(process));
}

rpc::Dispatch ShardWatch::beside(rpc::Dispatch store) {
  return rpc::make_dispatch(*this, kShardHandlers, std::move(store));
}

}  // namespace tidemark::service
