// What a lookup asks for, read from the parameters of a query string, and which keys the rows have that may answer it.
// Pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.h"
#include "indexes/definition/definition.h"
#include "table_store/model/entity.h"
#include "table_store/model/group_text.h"

namespace tidemark::indexes {

using table_store::ValueType;

inline constexpr std::uint32_t kMostAtOnce = 1000;
/// Behind everything that a key may hold.
inline constexpr std::string_view kBehindAllKeys = "\xEF\xBF\xBF";
inline constexpr auto kLongestWait = std::chrono::seconds(30);

struct LookupRequest {
  std::vector<std::string> values, types;         // of lists and summaries
  std::optional<std::string> prefix, from, to;    // of the property after them
  std::optional<std::string> partition;           // of lists in a partition
  std::map<std::string, std::string> properties;  // of copies
  std::uint32_t top = 100;
  std::string continuation;
  bool keys_only = false;
  std::vector<std::string> projection;  // empty: all properties
  table_store::Version min_version = 0;
  std::optional<Duration> max_lag;
  Duration wait = std::chrono::seconds(5);
};
/// kInvalidQueryParameterValue, with every problem in its message.
Result<LookupRequest> read_lookup(const Definition& definition,
                                  const std::vector<std::pair<std::string, std::string>>& parameters);

ValueType type_of(const table_store::Value& value);

/// A value of one type, as it stands in keys.
struct ValueText {
  ValueType type = ValueType::kString;
  std::string text;
};

/// Groups with the same first values, and a range of the next, whose type is one.
struct GroupRange {
  std::vector<ValueText> equal;
  bool whole = false;  // `equal` has a value for each property: it is one group
  std::optional<ValueType> type;
  std::string least, prefix;
  std::optional<std::string> most;

  /// The text of a group's key; of one group all of it, else what all of them begin with.
  [[nodiscard]] std::string beginning() const;
  /// Where the groups are in the order of keys: from `first` on and before `before`. `after_group` is what follows a
  /// group in its key; 0: nothing.
  struct Place {
    std::string first, before;
  };
  [[nodiscard]] Place place(char after_group, std::size_t properties) const;
  /// Whether these values of the properties are meant.
  [[nodiscard]] bool admits(const std::vector<ValueText>& values) const;
  /// The same where only the texts are known.
  [[nodiscard]] bool admits(const std::string& group, std::size_t properties) const;

 private:
  [[nodiscard]] bool admits_text(std::size_t place, const std::string& text) const;
};
/// One for each combination of types that the texts may have.
std::vector<GroupRange> ranges_of(const LookupRequest& request, std::size_t properties);

/// The values of these properties; nothing if the entity has not all of them.
std::optional<std::vector<ValueText>> values_of(const std::vector<std::string>& by, const table_store::Entity& entity);

/// The keys of the copies that are asked for.
struct CopyKeys {
  std::string partition_key;
  std::string row_key;
  bool exact = false;  // else the row key begins so
};
CopyKeys copy_keys_of(const LookupRequest& request, const CopiesKind& kind);

}  // namespace tidemark::indexes
