// Checks conditional headers such as If-Match against a blob's version. Pure; call the checks in the transaction that
// commits. Errors: kConditionNotMet, kNotModified, kBlobAlreadyExists, kUnauthorizedBlobOverwrite,
// kUnsatisfiableCondition.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/tag_query.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

struct Conditions {
  std::vector<std::string> if_match, if_none_match;  // without quotes; "*" matches any version
  std::optional<Time> if_modified_since, if_unmodified_since;
  std::string lease_id = {};  // as parse_lease_id() returns it if it is valid; empty if there is none
  TagCondition if_tags = {};
  bool only_creates = false;  // the caller may create but not overwrite: kUnauthorizedBlobOverwrite
};

/// Splits a header such as `"0x1", 0x2`; removes quotes and W/. An empty tag, as in `""`, matches no blob.
std::vector<std::string> parse_etags(std::string_view header);

Result<void> check_read(const Conditions& conditions, const Stamp& version);
/// Makes all checks of a blob's read, including those of its lease and its tags.
Result<void> admit_read(const Conditions& conditions, const Blob& blob, Time now);
/// Makes all checks of a write, and ends a lease that is over.
Result<void> admit_write(const Conditions& conditions, std::optional<Blob>& existing, bool creates, Time now);
/// Checks whether a blob of this type may replace the existing one: kInvalidBlobType, kBlobArchived.
Result<void> check_replaced(const std::optional<Blob>& existing, BlobType type);
/// `existing` is null if there is no such blob. `creates`: Put Blob and Put Block List, for which If-None-Match: * over
/// an existing blob is kBlobAlreadyExists.
Result<void> check_write(const Conditions& conditions, const Stamp* existing, bool creates);
/// Checks the version and the tags of an existing blob, but not its lease.
Result<void> check_existing(const Conditions& conditions, const Blob& blob);

}  // namespace tidemark::blob_store
