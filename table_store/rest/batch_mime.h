// The multipart bodies of $batch. Parts are found only by their boundary lines. Lines may end with CRLF or LF, there
// may be empty lines before boundaries and bodies, and Content-Length is ignored. Views point into the body. No state.
// Errors: kInvalidInput.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxBatchOperations = 100;

using HeaderList = std::vector<std::pair<std::string_view, std::string_view>>;
/// First header with this name, whatever the case.
std::optional<std::string_view> find_header(const HeaderList& headers, std::string_view name);

struct BatchPart {
  std::string_view method;
  std::string_view uri;  // absolute or relative, with its query
  HeaderList headers;
  std::string_view body;
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

struct Batch {
  std::vector<BatchPart> changes;     // of the first change set
  std::size_t later_change_sets = 0;  // not read: the service executes one
  std::optional<BatchPart> query;     // outside of a change set
  bool more_than_allowed = false;     // more than 100 changes; the rest was not read
};

/// The boundary in a Content-Type; nothing if that is not multipart/mixed or the boundary is not usable.
std::optional<std::string> multipart_boundary(std::string_view content_type);

/// kInvalidInput if it is not a batch: it has no parts, a query and changes, or two queries.
Result<Batch> parse_batch(std::string_view body, std::string_view boundary);

}  // namespace tidemark::table_store
