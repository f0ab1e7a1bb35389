// The entities of a table that a job selects. Pure.
#pragma once
#include <optional>
#include <string>

namespace tidemark::jobs {

struct EntityKey {
  std::string partition_key;
  std::string row_key;
  bool operator==(const EntityKey&) const = default;
};
struct EntityKeyHash {
  std::size_t operator()(const EntityKey& key) const {
    const std::hash<std::string> hash;
    return hash(key.partition_key) * 31 + hash(key.row_key);
  }
};

/// Exactly one of the two is set, unless the kind offers a third way.
struct Selection {
  std::optional<EntityKey> entity;
  std::optional<std::string> filter;
  bool operator==(const Selection&) const = default;
};

/// The accounts of the two sides of a job. Empty: the account of the jobs.
struct Accounts {
  std::string source, destination;
  bool operator==(const Accounts&) const = default;
};

}  // namespace tidemark::jobs
