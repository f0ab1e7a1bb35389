#include "common/service/usage_meter.h"

#include <algorithm>
#include <atomic>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/service/rate_buckets.h"

namespace tidemark::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr unsigned kSampled = 16;  // one request of so many stands for all of them
constexpr auto kWindow = std::chrono::seconds(30);
constexpr std::uint64_t kFewestSamples = 2;
constexpr std::size_t kLongestLabel = 64;
constexpr double kFade = 0.5;   // the weight of a request after one more scrape
constexpr double kLoyalty = 2;  // a name that has a series loses it to a name with twice the use
constexpr std::string_view kAccessNames[] = {"read", "write", "delete"};
constexpr const char* kOther = "(other)";

std::size_t index_of(analytics::Access access) {
  switch (access) {
    case analytics::Access::kRead:
      return 0;
    case analytics::Access::kWrite:
      return 1;
    case analytics::Access::kDelete:
      return 2;
  }
  return 0;
}

std::size_t shard_of_this_thread() {
  static std::atomic<std::size_t> next{0};
  static thread_local const std::size_t shard = next.fetch_add(1, std::memory_order_relaxed);
  return shard;
}

std::string shortened(std::string text) {
  if (text.size() <= kLongestLabel) return text;
  return std::string(beginning_of(text, kLongestLabel)) + "...";
}

}  // namespace

void declare(process::Settings& settings, UsageSettings& values) {
  settings.add(
      "metrics_max_names", values.max_names, 0, 10'000,
      "tables, queues or containers with metrics of their own, those that are used most; the others are summed up");
  settings.add("metrics_hot_partitions", values.hot_partitions, 0, 100,
               "partitions that /metrics names because they are asked for most; 0: none");
}

void UsageMeter::Counts::add(const Counts& other) {
  for (std::size_t i = 0; i < kAccesses; ++i) {
    for (std::size_t j = 0; j < kFamilies; ++j) requests[i][j] += other.requests[i][j];
  }
  us += other.us;
}

std::uint64_t UsageMeter::Counts::sum() const {
  std::uint64_t all = 0;
  for (const auto& of_access : requests) {
    for (const auto count : of_access) all += count;
  }
  return all;
}

std::size_t UsageMeter::PartHash::operator()(const Part& part) const {
  return RateBuckets::key({part.account, part.name, part.partition});
}

UsageMeter::UsageMeter(UsageLabels labels, const UsageSettings& settings, process::Metrics& metrics)
    : labels_(std::move(labels)),
      max_names_(static_cast<std::size_t>(settings.max_names)),
      hot_partitions_(labels_.partition.empty() ? 0 : static_cast<std::size_t>(settings.hot_partitions)),
      window_(sketch_capacity()),
      window_began_(std::chrono::steady_clock::now()),
      figures_(std::make_shared<process::Figures>([this] { return figures(std::chrono::steady_clock::now()); })) {
  metrics.add(figures_);
}

void UsageMeter::record(std::string_view account, std::string_view name, analytics::Access access, unsigned status,
                        std::chrono::steady_clock::duration taken) {
  const auto family = std::clamp<std::size_t>(status / 100, 1, kFamilies) - 1;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
  const auto key = RateBuckets::key({account, name});
  auto& shard = shards_[shard_of_this_thread() % kShards];
  const MutexLock lock(shard.mutex);
  auto found = shard.names.find(key);
  if (found == shard.names.end() && status < 400 && shard.names.size() < kMostOfShard) {
    auto named = Name{std::string(account), std::string(name)};
    std::ranges::transform(named.name, named.name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 0x20) : c; });
    found = shard.names.emplace(key, Recent{std::move(named), {}}).first;
  }
  auto& counts = found == shard.names.end() ? shard.others : found->second.counts;
  ++counts.requests[index_of(access)][family];
  counts.us += static_cast<std::uint64_t>(us);
}

bool UsageMeter::samples() const {
  static thread_local unsigned turn = 0;
  return ++turn % kSampled == 0 && hot_partitions_ > 0;
}

void UsageMeter::sample(Part part, TimePoint now) {
  const MutexLock lock(mutex_);
  begin_window(now);
  window_.add(std::move(part));
}

/// Begins a window if the last one is over. Partitions that nobody asked for meanwhile are forgotten.
void UsageMeter::begin_window(TimePoint now) {
  const auto age = now - window_began_;
  if (age < kWindow) return;
  hottest_ = age < 2 * kWindow ? window_.most(hot_partitions_) : std::vector<Sketch::Hitter>();
  window_ = Sketch(sketch_capacity());
  window_began_ = now;
}

/// Takes over the counts of the shards. A name that was not used since the last time leaves its shard.
void UsageMeter::gather() {
  for (auto& [name, total] : totals_) total.use *= kFade;
  for (auto& shard : shards_) {
    const MutexLock lock(shard.mutex);
    others_.add(std::exchange(shard.others, {}));
    for (auto it = shard.names.begin(); it != shard.names.end();) {
      auto& [name, counts] = it->second;
      const auto used = counts.sum();
      if (used == 0) {
        it = shard.names.erase(it);
        continue;
      }
      auto& total = totals_.try_emplace(name).first->second;
      total.use += static_cast<double>(used) * (total.counts.sum() > 0 ? kLoyalty : 1);
      total.counts.add(std::exchange(counts, {}));
      ++it;
    }
  }
}

void UsageMeter::forget_rarest() {
  if (totals_.size() <= max_names_) return;
  std::vector<std::map<Name, Total>::iterator> by_use;
  by_use.reserve(totals_.size());
  for (auto it = totals_.begin(); it != totals_.end(); ++it) by_use.push_back(it);
  std::ranges::sort(by_use, [](auto a, auto b) { return a->second.use > b->second.use; });
  for (auto i = max_names_; i < by_use.size(); ++i) {
    others_.add(by_use[i]->second.counts);
    totals_.erase(by_use[i]);
  }
}

void UsageMeter::add_requests(std::vector<MetricFamily>& out) {
  MetricFamily requests{
      "tidemark_" + labels_.name + "_requests_total", "Requests by what they were about.", MetricType::Counter, {}};
  MetricFamily seconds{"tidemark_" + labels_.name + "_request_seconds_total",
                       "Time to answer those requests, together.",
                       MetricType::Counter,
                       {}};
  const auto add = [&](const Name& name, const Counts& counts) {
    for (std::size_t i = 0; i < kAccesses; ++i) {
      for (std::size_t j = 0; j < kFamilies; ++j) {
        if (counts.requests[i][j] == 0) continue;
        process::add_value(requests, static_cast<double>(counts.requests[i][j]),
                           {{"account", name.account},
                            {labels_.name, name.name},
                            {"access", std::string(kAccessNames[i])},
                            {"status", std::to_string(j + 1) + "xx"}});
      }
    }
    process::add_value(seconds, static_cast<double>(counts.us) / 1e6,
                       {{"account", name.account}, {labels_.name, name.name}});
  };
  for (const auto& [name, total] : totals_) add(name, total.counts);
  if (others_.sum() > 0) add({"", kOther}, others_);
  out.push_back(std::move(requests));
  out.push_back(std::move(seconds));
}

void UsageMeter::add_partitions(std::vector<MetricFamily>& out) {
  if (labels_.partition.empty()) return;
  MetricFamily family{"tidemark_hot_partition_requests_per_second",
                      "Requests of the partitions that were asked for most in half a minute, from a sample.",
                      MetricType::Gauge,
                      {}};
  constexpr double kEach = double(kSampled) / double(kWindow.count());
  for (const auto& each : hottest_) {
    if (each.at_least() < kFewestSamples) continue;
    process::add_value(family, static_cast<double>(each.at_least()) * kEach,
                       {{"account", each.key.account},
                        {labels_.name, each.key.name},
                        {labels_.partition, shortened(each.key.partition)}});
  }
  out.push_back(std::move(family));
}

std::vector<MetricFamily> UsageMeter::figures(TimePoint now) {
  std::vector<MetricFamily> out;
  const MutexLock lock(mutex_);
  gather();
  forget_rarest();
  begin_window(now);
  add_requests(out);
  add_partitions(out);
  return out;
}

}  // namespace tidemark::service
