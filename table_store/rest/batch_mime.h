// Parses the bodies of $batch: a query, or a change set within the batch (common/protocol/multipart.h). No state.
// Errors: kInvalidInput.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/protocol/multipart.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxBatchOperations = 100;

using protocol::BatchPart;
using protocol::find_header;
using protocol::HeaderList;
using protocol::multipart_boundary;

struct Batch {
  std::vector<BatchPart> changes;     // of the first change set
  std::size_t later_change_sets = 0;  // not read: the service executes one
  std::optional<BatchPart> query;     // outside of a change set
  bool more_than_allowed = false;     // more than 100 changes; the rest was not read
};

/// kInvalidInput if it is not a batch: it has no parts, a query and changes, or two queries.
Result<Batch> parse_batch(std::string_view body, std::string_view boundary);

}  // namespace tidemark::table_store
