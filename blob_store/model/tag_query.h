// Expressions on index tags: the condition of x-ms-if-tags, with AND, OR and parentheses, and the search of Find Blobs
// by Tags, whose terms are joined by AND. Values compare as text. Pure. Errors: kInvalidInput, with the service's
// message, which gives the mistake and its place.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

enum class TagOperator { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

struct TagTerm {
  std::string key;
  TagOperator op = TagOperator::kEqual;
  std::string value;
  /// A missing tag is unequal to every value, and neither less nor greater.
  [[nodiscard]] bool holds(const Tags& tags) const;
};

/// A condition that was checked by parse(). An empty one always holds.
struct TagCondition {
  std::string text;
  [[nodiscard]] bool holds(const Tags& tags) const;
  [[nodiscard]] bool empty() const { return text.empty(); }
  static Result<TagCondition> parse(std::string_view text);
};

enum class SearchedIn : bool { kAccount, kContainer };

/// Has terms on at most ten tags.
struct TagSearch {
  std::vector<TagTerm> terms;
  std::optional<std::string> container;  // @container = 'name', only when the account is searched
  [[nodiscard]] bool matches(const Tags& tags) const;
  static Result<TagSearch> parse(std::string_view text, SearchedIn place = SearchedIn::kAccount);
};

inline constexpr std::size_t kMaxTagDepth = 20;

}  // namespace tidemark::blob_store
