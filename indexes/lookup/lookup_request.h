// The request of a lookup, read from the parameters of a query string, and the keys of the rows that may answer it.
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
/// Comes after every text that a key may hold.
inline constexpr std::string_view kBehindAllKeys = "\xEF\xBF\xBF";
inline constexpr auto kLongestWait = std::chrono::seconds(30);

struct LookupRequest {
  std::vector<std::string> values, types;         // for lists and summaries
  std::optional<std::string> prefix, from, to;    // of the property after them
  std::optional<std::string> partition;           // for lists in a partition
  std::map<std::string, std::string> properties;  // for copies
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

/// Groups that share the first values, and a range of the next property, whose values have one type.
struct GroupRange {
  std::vector<ValueText> equal;
  bool whole = false;  // `equal` has a value for each property: it is one group
  std::optional<ValueType> type;
  std::string least, prefix;
  std::optional<std::string> most;

  /// The text of a group's key: the whole text for one group, otherwise the text with which all of them begin.
  [[nodiscard]] std::string beginning() const;
  /// The place of the groups in the order of keys: from `first` on and before `before`. `after_group` is the character
  /// that follows a group in its key; 0: none.
  struct Place {
    std::string first, before;
  };
  [[nodiscard]] Place place(char after_group, std::size_t properties) const;
  /// Tells whether these values of the properties are in the range.
  [[nodiscard]] bool admits(const std::vector<ValueText>& values) const;
  /// Tells the same if only the texts are known.
  [[nodiscard]] bool admits(const std::string& group, std::size_t properties) const;

 private:
  [[nodiscard]] bool admits_text(std::size_t place, const std::string& text) const;
};
/// Returns a range for each combination of types that the texts may have.
std::vector<GroupRange> ranges_of(const LookupRequest& request, std::size_t properties);

/// Returns the values of these properties; nothing if the entity lacks one of them.
std::optional<std::vector<ValueText>> values_of(const std::vector<std::string>& by, const table_store::Entity& entity);

/// The keys of the requested copies.
struct CopyKeys {
  std::string partition_key;
  std::string row_key;
  bool exact = false;  // otherwise the row key begins like this
};
CopyKeys copy_keys_of(const LookupRequest& request, const CopiesKind& kind);

}  // namespace tidemark::indexes
