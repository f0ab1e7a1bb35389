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
  std::vector<std::string> if_match, if_none_match;  // without quotes; "*" is any
  std::optional<Time> if_modified_since, if_unmodified_since;
  std::string lease_id = {};  // of parse_lease_id() if it is one; empty if there is none
  TagCondition if_tags = {};
  bool only_creates = false;  // whoever asks may create, and not overwrite: kUnauthorizedBlobOverwrite
};

/// Splits a header such as `"0x1", 0x2`; removes quotes and W/. An empty tag, as in `""`, is one that no blob has.
std::vector<std::string> parse_etags(std::string_view header);

Result<void> check_read(const Conditions& conditions, const Stamp& version);
/// All that a read of a blob is checked for: also its lease and its tags.
Result<void> admit_read(const Conditions& conditions, const Blob& blob, Time now);
/// All that a write is checked for; a lease that is over ends with it.
Result<void> admit_write(const Conditions& conditions, std::optional<Blob>& existing, bool creates, Time now);
/// Whether a blob of this type may take the place of what is there: kInvalidBlobType, kBlobArchived.
Result<void> check_replaced(const std::optional<Blob>& existing, BlobType type);
/// `existing` is null if there is no such blob. `creates`: Put Blob and Put Block List, for which If-None-Match: *
/// over an existing blob is kBlobAlreadyExists.
Result<void> check_write(const Conditions& conditions, const Stamp* existing, bool creates);
/// Of a blob that is there, whatever its lease: also its tags.
Result<void> check_existing(const Conditions& conditions, const Blob& blob);

}  // namespace tidemark::blob_store
