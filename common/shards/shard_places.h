// The processes that serve the shards of a store that several processes share (docs/scale.md, Owners), as one of them
// sees it: a router follows this. It is only a hint, since the database decides who owns a shard. Thread safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace tidemark::shards {

struct ProcessRow {
  std::string name;
  std::string address;  // where the others reach it
  std::int64_t renewals = 0;
};

class ShardPlaces {
 public:
  struct Place {
    bool here = false;
    std::string address = {};  // of the other process; empty: none serves it, as far as this one knows
    bool operator==(const Place&) const = default;
  };

  ShardPlaces() = default;
  virtual ~ShardPlaces() = default;
  ShardPlaces(const ShardPlaces&) = delete;
  ShardPlaces& operator=(const ShardPlaces&) = delete;

  [[nodiscard]] virtual std::size_t shards() const = 0;
  [[nodiscard]] virtual Place place_of(std::size_t shard) const = 0;
  /// True if the shard is here, and its lease is good: no other process can have taken it yet.
  [[nodiscard]] virtual bool leased(std::size_t shard) const = 0;
  /// Returns the name of this process.
  [[nodiscard]] virtual const std::string& process() const = 0;
  /// Returns the living processes, including this one.
  [[nodiscard]] virtual std::vector<ProcessRow> processes() const = 0;
  /// Returns the addresses of the other living processes.
  [[nodiscard]] std::vector<std::string> others() const {
    std::vector<std::string> addresses;
    for (auto& row : processes()) {
      if (row.name != process()) addresses.push_back(std::move(row.address));
    }
    return addresses;
  }

  /// Finds out soon which process serves which shard, without waiting for the next turn.
  virtual void look() = 0;
  /// Wishes the shard to be served by this process; empty: by any. The wish is made once wished() shows it.
  /// kInvalidInput: there is no such shard, or no such living process.
  virtual Result<void> wish(std::size_t shard, const std::string& process) = 0;
  /// The process that should get the shard; empty: any.
  [[nodiscard]] virtual std::string wished(std::size_t shard) const = 0;
};

}  // namespace tidemark::shards
