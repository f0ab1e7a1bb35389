// The expected behaviour of the table store, as simply as possible: a map in key order, and filters as predicates.
// Shares no code with the store beyond the value types. For table_property_test.cpp.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/mutation.h"

namespace tidemark::table_store::reference {

/// Returns valid UTF-8 as UTF-16 code units, whose order is the order of keys.
std::u16string units_of(std::string_view utf8);

struct Key {
  std::u16string partition, row;
  auto operator<=>(const Key&) const = default;
};

struct Row {
  std::string partition_key, row_key;
  Version version = 0;
  std::optional<Version> source_version;
  std::vector<Property> properties;
  [[nodiscard]] const Value* find(std::string_view name) const;
};

using Rows = std::map<Key, Row>;

struct Expected {
  std::optional<ErrorCode> error;
  std::optional<std::size_t> index;  // of the failing mutation
  std::vector<MutationOutcome> outcomes;
};

/// The tables of one account. Versions are predicted exactly: one for each transaction, never before the clock, always
/// after the last one of the partition's shard.
class Store {
 public:
  using ShardOf = std::function<std::size_t(const std::string& table, const std::string& partition_key)>;
  explicit Store(ShardOf shard_of = {}) : shard_of_(std::move(shard_of)) {}
  Expected create(const std::string& table);
  Expected drop(const std::string& table);
  Expected mutate(const std::string& table, const std::string& partition_key, const std::vector<Mutation>& mutations,
                  Version now);
  [[nodiscard]] const Rows* rows(const std::string& table) const;
  [[nodiscard]] const Row* find(const std::string& table, const std::string& pk, const std::string& rk) const;

 private:
  std::map<std::string, Rows> tables_;
  ShardOf shard_of_;  // empty: there is one
  std::map<std::size_t, Version> last_versions_;
};

}  // namespace tidemark::table_store::reference
