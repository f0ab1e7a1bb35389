// Decides which shards a process claims, and which one it lets go, from the rows in the tables of owners and processes
// (docs/scale.md, Owners). Every process decides for itself, by the same rules; there is no leader. The database
// decides whether a claim succeeds: this file only says which claims are worth a try. No sockets, no clock of its own;
// for one thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/shards/shard_places.h"

namespace tidemark::shards {

/// The values in a claim that make it fail if the owner has renewed its lease since they were read.
struct SeenOwner {
  std::int64_t epoch = 0, renewals = 0;
  bool operator==(const SeenOwner&) const = default;
};

/// A shard's row in the table of owners.
struct OwnerRow {
  SeenOwner seen = {};
  std::string process = {};  // the present or the last owner; empty: it never had one
  bool released = true;      // no process has a lease
  bool ended = false;        // the former owner has ended, as its place shows
  std::string wish = {};     // the process that should get the shard; empty: any
};

struct OwnersTable {
  std::vector<OwnerRow> shards;
  std::vector<ProcessRow> processes;
};

/// The relation of this process to a shard.
enum class Holding : std::uint8_t { kNothing, kServes, kLeaves };

/// These times are of a clock that goes on while a machine sleeps.
struct ReadAt {
  std::chrono::nanoseconds begun, ended;
};

class ShardClaims {
 public:
  /// `patience`: for this long a counter must stand still until its process counts as gone. It is a lease and some
  /// margin.
  ShardClaims(std::string me, std::chrono::nanoseconds patience) : me_(std::move(me)), patience_(patience) {}

  struct Plan {
    std::vector<std::size_t> claim;
    std::optional<std::size_t> release;
  };
  /// `mine`: one for each shard. One shard at a time is let go, and none as long as any shard is free, or is being let
  /// go.
  Plan plan(const OwnersTable& table, const std::vector<Holding>& mine, ReadAt at);

  /// True if no process serves the shard, by the table that was seen last.
  [[nodiscard]] bool is_free(std::size_t shard) const { return shards_[shard].free_since.has_value(); }
  /// True if the process's counter still moves, by the same table.
  [[nodiscard]] bool lives(const std::string& process) const;
  /// Returns processes that have been gone for so long that their rows are of no use.
  [[nodiscard]] std::vector<ProcessRow> forgotten(const OwnersTable& table, ReadAt at) const;

 private:
  /// The pause after a shard was let go and no process took it; twice as long each time that happens again.
  static constexpr std::chrono::seconds kFirstPause{5}, kLongestPause{300};

  /// A counter, and the time since which it has been seen standing still.
  template <class Counter>
  struct Watched {
    Counter counter = {};
    std::chrono::nanoseconds since{};
  };
  struct WatchedShard {
    Watched<SeenOwner> owner = {};
    std::optional<std::chrono::nanoseconds> free_since = {};
  };

  void watch(const OwnersTable& table, const std::vector<Holding>& mine, ReadAt at);
  [[nodiscard]] bool stands_still(std::chrono::nanoseconds since, ReadAt at) const {
    return at.begun - since >= patience_;
  }
  /// Counts the shards of each living process, including this one.
  [[nodiscard]] std::map<std::string, std::size_t> held(const OwnersTable& table,
                                                        const std::vector<Holding>& mine) const;
  void choose_claims(const OwnersTable& table, std::map<std::string, std::size_t>& held, ReadAt at, Plan& plan);
  [[nodiscard]] std::optional<std::size_t> choose_release(const OwnersTable& table,
                                                          const std::map<std::string, std::size_t>& held,
                                                          const std::vector<Holding>& mine, ReadAt at);

  const std::string me_;
  const std::chrono::nanoseconds patience_;
  std::vector<WatchedShard> shards_;
  std::map<std::string, Watched<std::int64_t>> processes_;
  std::map<std::string, bool> living_;
  std::optional<std::size_t> given_;  // let go for a process with fewer shards, and not taken yet
  std::chrono::nanoseconds balance_from_{}, balance_pause_ = kFirstPause;
};

}  // namespace tidemark::shards
