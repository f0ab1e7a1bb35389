// Who serves the shards of a store that several processes share (docs/scale.md, Owners), as one of them sees it: what a
// router goes by. What it says is a hint, for whoever owns a shard is the database's to say. Thread safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace tidemark::kv {

struct ProcessRow {
  std::string name;
  std::string address;  // where the others reach it
  std::int64_t renewals = 0;
};

class ShardPlaces {
 public:
  struct Place {
    bool here = false;
    std::string address = {};  // of the other process; empty: nobody serves it, as far as this one knows
    bool operator==(const Place&) const = default;
  };

  ShardPlaces() = default;
  virtual ~ShardPlaces() = default;
  ShardPlaces(const ShardPlaces&) = delete;
  ShardPlaces& operator=(const ShardPlaces&) = delete;

  [[nodiscard]] virtual std::size_t shards() const = 0;
  [[nodiscard]] virtual Place place_of(std::size_t shard) const = 0;
  /// It is here, and its lease is good: nobody else can have taken it yet.
  [[nodiscard]] virtual bool leased(std::size_t shard) const = 0;
  /// This one.
  [[nodiscard]] virtual const std::string& process() const = 0;
  /// Those that live, this one too.
  [[nodiscard]] virtual std::vector<ProcessRow> processes() const = 0;
  /// Addresses of the others that live.
  [[nodiscard]] std::vector<std::string> others() const {
    std::vector<std::string> addresses;
    for (auto& row : processes()) {
      if (row.name != process()) addresses.push_back(std::move(row.address));
    }
    return addresses;
  }

  /// Looks soon who serves what, instead of in its turn.
  virtual void look() = 0;
  /// The shard is to be this process's; empty: anybody's. It is so once wished() says it. kInvalidInput: there is no
  /// such shard, or no such process that lives.
  virtual Result<void> wish(std::size_t shard, const std::string& process) = 0;
  /// The process that is to have it; empty: any.
  [[nodiscard]] virtual std::string wished(std::size_t shard) const = 0;
};

}  // namespace tidemark::kv
