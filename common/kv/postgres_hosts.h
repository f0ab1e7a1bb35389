// Of a database with several hosts, such as a leader and those that may replace it, the one that took writes last. It
// is asked first, since a host that stands still costs whoever connects a timeout. Thread safe.
#pragma once
#include <map>
#include <string>

#include "common/base/mutex.h"

namespace tidemark::kv::detail {

/// Hosts, and their ports in the same order, each separated by commas, as the library wants them: one port, or none,
/// may stand for all.
struct Hosts {
  std::string names, ports;
  bool operator==(const Hosts&) const = default;
};

/// The same with this host first; as they are if it is not among them.
Hosts with_first(const Hosts& hosts, const Hosts& first);

class LatestHosts {
 public:
  void took_writes(const std::string& url, Hosts host);
  /// The hosts of this connection string in the order in which to ask them.
  [[nodiscard]] Hosts in_order(const std::string& url, const Hosts& hosts) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Hosts> latest_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::kv::detail
