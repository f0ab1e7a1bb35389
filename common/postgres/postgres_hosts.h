// Facts that the connections of a process have found out about a database with several hosts, such as a leader and
// hosts that may replace it. A host that stands still costs a new connection a timeout, and a statement as long again;
// so the experience of one connection spares the others. Thread safe.
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "common/base/mutex.h"

namespace tidemark::kv::detail {

/// Hosts, and their ports in the same order, each separated by commas, as the library wants them. One port, or none,
/// may stand for all.
struct Hosts {
  std::string names, ports;
  bool operator==(const Hosts&) const = default;
};

/// Returns the hosts with this one first; unchanged if it is not among them.
Hosts with_first(const Hosts& hosts, const Hosts& first);

class DatabaseHosts {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// Returns the object for all connections of the process. Databases are told apart by their connection strings.
  static DatabaseHosts& of_process();

  /// A connection was made that accepts writes.
  void took_writes(const std::string& url, Hosts host);
  /// No such connection could be made, between these two moments.
  void nobody_did(const std::string& url, Moment begun, Moment ended);
  /// A connection was lost, or its host did not answer in time.
  void fell_silent(const std::string& url);

  /// Returns the hosts with the one that last took writes first.
  [[nodiscard]] Hosts in_order(const std::string& url, const Hosts& hosts) const;
  /// True if no host took writes just now, and finding that out took long; for twice that time, up to five seconds.
  [[nodiscard]] bool seems_away(const std::string& url, Moment now) const;
  /// How often the database fell silent: older connections than the last time are probably dead.
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
