// Which shards a process is to claim, and which one it is to let go, from what it reads in the tables of owners and
// processes (docs/scale.md, Owners). Every process decides for itself, by the same rules; nobody leads. Whether a claim
// is taken is the database's decision: this one only says what is worth a try. No sockets, no clock of its own; for one
// thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/kv/shard_places.h"

namespace tidemark::kv {

/// What a claim names, so that it fails if the owner has renewed its lease since it was read.
struct SeenOwner {
  std::int64_t epoch = 0, renewals = 0;
  bool operator==(const SeenOwner&) const = default;
};

/// A shard's row in the table of owners.
struct OwnerRow {
  SeenOwner seen = {};
  std::string process = {};  // whose it is, or was last; empty: it never had an owner
  bool released = true;      // nobody has a lease
  bool ended = false;        // whoever had it has ended, as its place shows
  std::string wish = {};     // the process that is to have it; empty: any
};

struct OwnersTable {
  std::vector<OwnerRow> shards;
  std::vector<ProcessRow> processes;
};

/// What this process has of a shard.
enum class Holding : std::uint8_t { kNothing, kServes, kLeaves };

/// Times are of a clock that goes on while a machine sleeps.
struct ReadAt {
  std::chrono::nanoseconds begun, ended;
};

class ShardClaims {
 public:
  /// `patience`: for so long a counter must be seen standing still, until whoever raises it counts as gone. A lease and
  /// some margin.
  ShardClaims(std::string me, std::chrono::nanoseconds patience) : me_(std::move(me)), patience_(patience) {}

  struct Plan {
    std::vector<std::size_t> claim;
    std::optional<std::size_t> release;
  };
  /// `mine`: of each shard. One at a time is let go: none as long as any shard is free, or is being let go.
  Plan plan(const OwnersTable& table, const std::vector<Holding>& mine, ReadAt at);

  /// Of the table that was seen last: nobody serves it.
  [[nodiscard]] bool is_free(std::size_t shard) const { return shards_[shard].free_since.has_value(); }
  /// Likewise: the process's counter moves, as far as anybody can tell.
  [[nodiscard]] bool lives(const std::string& process) const;
  /// Processes that have been gone for so long that their rows are of no use.
  [[nodiscard]] std::vector<ProcessRow> forgotten(const OwnersTable& table, ReadAt at) const;

 private:
  /// After nobody took what was given away; twice as long each time that happens again.
  static constexpr std::chrono::seconds kFirstPause{5}, kLongestPause{300};

  /// A counter, and since when it has been seen standing still.
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
  /// How many shards each living process has, this one too.
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
  std::optional<std::size_t> given_;  // to whoever has fewer, and nobody has taken it yet
  std::chrono::nanoseconds balance_from_{}, balance_pause_ = kFirstPause;
};

}  // namespace tidemark::kv
