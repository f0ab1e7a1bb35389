#include "common/postgres/postgres_hosts.h"

#include <algorithm>
#include <ranges>
#include <vector>

namespace tidemark::kv::detail {
namespace {

constexpr std::chrono::milliseconds kSoon{200};  // too short to matter
constexpr std::chrono::seconds kLongestAway{5};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(list, ',')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

std::string list_of(const std::vector<std::string>& parts) {
  std::string list;
  for (const auto& part : parts) list += (list.empty() ? "" : ",") + part;
  return list;
}

}  // namespace

Hosts with_first(const Hosts& hosts, const Hosts& first) {
  auto names = parts_of(hosts.names);
  auto ports = parts_of(hosts.ports);
  const bool each_has_a_port = ports.size() == names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != first.names || (each_has_a_port && ports[i] != first.ports)) continue;
    const auto bring_forward = [at = static_cast<std::ptrdiff_t>(i)](auto& parts) {
      std::rotate(parts.begin(), parts.begin() + at, parts.begin() + at + 1);
    };
    bring_forward(names);
    if (each_has_a_port) bring_forward(ports);
    return {list_of(names), list_of(ports)};
  }
  return hosts;
}

DatabaseHosts& DatabaseHosts::of_process() {
  static DatabaseHosts hosts;
  return hosts;
}

void DatabaseHosts::took_writes(const std::string& url, Hosts host) {
  const MutexLock lock(mutex_);
  auto& known = known_[url];
  known.latest = std::move(host);
  known.away_until = {};
}

void DatabaseHosts::nobody_did(const std::string& url, Moment begun, Moment ended) {
  const auto took = ended - begun;
  if (took < kSoon) return;
  const MutexLock lock(mutex_);
  known_[url].away_until = ended + std::min<std::chrono::steady_clock::duration>(2 * took, kLongestAway);
}

void DatabaseHosts::fell_silent(const std::string& url) {
  const MutexLock lock(mutex_);
  ++known_[url].silences;
}

Hosts DatabaseHosts::in_order(const std::string& url, const Hosts& hosts) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(url);
  return known == known_.end() ? hosts : with_first(hosts, known->second.latest);
}

bool DatabaseHosts::seems_away(const std::string& url, Moment now) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(url);
  return known != known_.end() && now < known->second.away_until;
}

std::uint64_t DatabaseHosts::silences(const std::string& url) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(url);
  return known == known_.end() ? 0 : known->second.silences;
}

}  // namespace tidemark::kv::detail
