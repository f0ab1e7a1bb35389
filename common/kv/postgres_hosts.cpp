#include "common/kv/postgres_hosts.h"

#include <algorithm>
#include <ranges>
#include <vector>

namespace tidemark::kv::detail {
namespace {

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

void LatestHosts::took_writes(const std::string& url, Hosts host) {
  const MutexLock lock(mutex_);
  latest_.insert_or_assign(url, std::move(host));
}

Hosts LatestHosts::in_order(const std::string& url, const Hosts& hosts) const {
  const MutexLock lock(mutex_);
  const auto latest = latest_.find(url);
  return latest == latest_.end() ? hosts : with_first(hosts, latest->second);
}

}  // namespace tidemark::kv::detail
