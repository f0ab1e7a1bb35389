// What the connections of a process have found out about a database that has several hosts, such as a leader and those
// that may replace it. A host that stands still costs whoever connects a timeout, and whoever asks it something as long
// again; so what one connection has found out spares the others. Thread safe.
#pragma once
#include <chrono>
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

class DatabaseHosts {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// For all connections of the process. Databases are told apart by their connection strings.
  static DatabaseHosts& of_process();

  /// A connection was made, by which one may write.
  void took_writes(const std::string& url, Hosts host);
  /// None could be made, from this moment until that.
  void nobody_did(const std::string& url, Moment begun, Moment ended);
  /// A connection was lost, or its host did not answer in time.
  void fell_silent(const std::string& url);

  /// The one that took writes last comes first.
  [[nodiscard]] Hosts in_order(const std::string& url, const Hosts& hosts) const;
  /// Nobody took writes just now, and to find that out took its time; for twice as long, up to five seconds.
  [[nodiscard]] bool seems_away(const std::string& url, Moment now) const;
  /// How often it fell silent: connections from before the last time probably have nobody at their other end.
  [[nodiscard]] std::uint64_t silences(const std::string& url) const;

 private:
  struct Known {
    Hosts latest;
    Moment away_until{};
    std::uint64_t silences = 0;
  };
  mutable Mutex mutex_;
  std::map<std::string, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::kv::detail
