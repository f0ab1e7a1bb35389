#include "blob_store/model/conditions.h"

#include <algorithm>

#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

bool any_matches(const std::vector<std::string>& tags, const std::string& etag) {
  return std::any_of(tags.begin(), tags.end(), [&](const auto& tag) { return tag == "*" || tag == etag; });
}

bool has_star(const std::vector<std::string>& tags) { return std::find(tags.begin(), tags.end(), "*") != tags.end(); }

std::chrono::sys_seconds seconds_of(Time time) { return std::chrono::floor<std::chrono::seconds>(time); }

bool is_newer(const Stamp& version, Time than) { return seconds_of(version.time()) > seconds_of(than); }

/// Tells whether If-Match, or without it If-Unmodified-Since, is not met.
bool none_matches(const Conditions& c, const Stamp& version) {
  if (!c.if_match.empty()) return !any_matches(c.if_match, version.etag());
  return c.if_unmodified_since && is_newer(version, *c.if_unmodified_since);
}

/// Tells whether If-None-Match, or without it If-Modified-Since, is not met.
bool is_excluded(const Conditions& c, const Stamp& version) {
  if (!c.if_none_match.empty()) return any_matches(c.if_none_match, version.etag());
  return c.if_modified_since && !is_newer(version, *c.if_modified_since);
}

Result<void> check_tags(const Conditions& c, const Tags& tags) {
  return c.if_tags.holds(tags) ? Result<void>() : fail(ErrorCode::kConditionNotMet);
}

}  // namespace

std::vector<std::string> parse_etags(std::string_view header) {
  std::vector<std::string> tags;
  while (!header.empty()) {
    auto tag = trimmed_spaces(take_item(header));
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
    tags.emplace_back(tag);
  }
  return tags;
}

Result<void> check_read(const Conditions& c, const Stamp& version) {
  if (has_star(c.if_none_match)) return fail(ErrorCode::kUnsatisfiableCondition);
  // As the service documents it: both If-Match and If-Unmodified-Since, and one of If-None-Match and If-Modified-Since.
  if (none_matches(c, version) || (c.if_unmodified_since && is_newer(version, *c.if_unmodified_since))) {
    return fail(ErrorCode::kConditionNotMet);
  }
  const bool modified = c.if_modified_since && is_newer(version, *c.if_modified_since);
  return is_excluded(c, version) && !modified ? fail(ErrorCode::kNotModified) : Result<void>();
}

Result<void> check_write(const Conditions& c, const Stamp* existing, bool creates) {
  if (existing == nullptr) {
    // Dates do not apply to a blob that does not exist.
    return c.if_match.empty() ? Result<void>{} : fail(ErrorCode::kConditionNotMet);
  }
  if (creates && has_star(c.if_none_match)) return fail(ErrorCode::kBlobAlreadyExists);
  if (none_matches(c, *existing) || is_excluded(c, *existing)) return fail(ErrorCode::kConditionNotMet);
  return {};
}

Result<void> check_existing(const Conditions& conditions, const Blob& blob) {
  TRY(check_write(conditions, &blob.version, false));
  return check_tags(conditions, blob.tags);
}

Result<void> admit_read(const Conditions& conditions, const Blob& blob, Time now) {
  TRY(check_lease_of_read(blob.lease, conditions.lease_id, now, Leased::kBlob));
  TRY(check_read(conditions, blob.version));
  return check_tags(conditions, blob.tags);
}

Result<void> admit_write(const Conditions& conditions, std::optional<Blob>& existing, bool creates, Time now) {
  // A client that sent If-None-Match: * learns that the blob exists.
  const bool overwrites = existing && !has_star(conditions.if_none_match);
  if (overwrites && conditions.only_creates) return fail(ErrorCode::kUnauthorizedBlobOverwrite);
  Lease none;
  TRY(check_lease_of_write(existing ? existing->lease : none, conditions.lease_id, now, Leased::kBlob));
  TRY(check_write(conditions, existing ? &existing->version : nullptr, creates));
  return check_tags(conditions, existing ? existing->tags : Tags());
}

Result<void> check_replaced(const std::optional<Blob>& existing, BlobType type) {
  if (!existing) return {};
  if (existing->type != type) return fail(ErrorCode::kInvalidBlobType);
  return is_archived(*existing) ? fail(ErrorCode::kBlobArchived) : Result<void>();
}

}  // namespace tidemark::blob_store
