// Entities and their values. No I/O, no JSON.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/time.h"

namespace tidemark::table_store {

struct Binary {
  std::string bytes;
  bool operator==(const Binary&) const = default;
};
struct Guid {
  std::array<std::uint8_t, 16> bytes{};  // in the order of the text form
  bool operator==(const Guid&) const = default;
};
/// "0d391d16-97f1-4b9a-be68-4cc871f90001", in either letter case.
std::optional<Guid> parse_guid(std::string_view text);
/// Returns the text in lower case.
std::string guid_text(const Guid& guid);

/// The EDM types: String, Int32, Int64, Double, Boolean, DateTime, Guid, Binary. Numbers are the stored type tags + 1.
using Value = std::variant<std::string, std::int32_t, std::int64_t, double, bool, Time, Guid, Binary>;

/// Tells whether writing one over the other changes nothing: Doubles are the same if their bits are.
bool same_value(const Value& a, const Value& b);

struct Property {
  std::string name;
  Value value;
};
/// Returns about how many bytes they take on the wire.
std::size_t properties_bytes(std::span<const Property> properties);

/// The version of an entity, in 100 ns ticks since 1970. Versions rise strictly across the whole store and are never
/// reused. The version is the entity's Timestamp, and its ETag is derived from it.
using Version = std::int64_t;

/// The mark of a row that a follower of a table has made (changes.h): the follower, and the entity from which the row
/// was made, or empty keys if it was made from several.
struct Origin {
  std::string follower, partition_key, row_key;
  bool operator==(const Origin&) const = default;
};

struct Entity {
  std::string partition_key;
  std::string row_key;
  Version version = 0;
  /// Set by "put if newer": the version of the source entity.
  std::optional<Version> source_version;
  std::vector<Property>
      properties;  // in the order given by the client; names unique; no PartitionKey, RowKey, Timestamp
  /// If there is a source version: the operation whose fence the entity was written under; empty if there was none.
  std::string operation = {};
  /// The entity came back from an archive: it is an original again, though it has the source version that it was
  /// archived with.
  bool restored = false;
  std::optional<Origin> origin = {};

  [[nodiscard]] bool is_copy() const { return source_version && !restored; }
  [[nodiscard]] const Value* find(std::string_view name) const;
};

/// The properties wanted of each entity, sorted, at most kMaxProperties; absent: all. Keys and versions are always
/// included.
using Selection = std::optional<std::vector<std::string>>;

}  // namespace tidemark::table_store
