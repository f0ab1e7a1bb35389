#include "blob_store/model/lease.h"

#include <algorithm>

#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

constexpr std::int64_t kForEver = -1;

Duration seconds(std::int64_t count) { return std::chrono::seconds(count); }

/// Returns whole seconds, rounded up, so that a client that waits this long finds the lease broken.
std::int64_t seconds_until(Time moment, Time now) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(moment - now).count();
  return std::max<std::int64_t>(left, 0);
}

constexpr std::string_view kGuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_enclosed(std::string_view text) {
  return (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('(') && text.ends_with(')'));
}

/// Ids that were stored before they had one common form may be in braces.
bool is_same(std::string_view one, std::string_view other) {
  const auto bare = [](std::string_view id) {
    return id.starts_with('{') && id.ends_with('}') ? id.substr(1, id.size() - 2) : id;
  };
  return bare(one) == bare(other);
}

LeaseAnswer hold(Lease& lease, std::string id, std::int64_t duration_s, Time now) {
  lease = Lease{std::move(id), duration_s, duration_s == kForEver ? Time{} : now + seconds(duration_s), {}};
  return {lease.id, 0};
}

Result<LeaseAnswer> acquire(Lease& lease, const LeaseRequest& request, Time now) {
  const auto state = lease.state(now);
  const bool same = is_same(lease.id, request.proposed);
  if (state == LeaseState::kBreaking) {
    return fail(same ? ErrorCode::kLeaseIsBreakingAndCannotBeAcquired : ErrorCode::kLeaseAlreadyPresent);
  }
  if (state == LeaseState::kLeased && !same) return fail(ErrorCode::kLeaseAlreadyPresent);
  return hold(lease, request.proposed, request.duration_s, now);
}

Result<LeaseAnswer> renew(Lease& lease, const LeaseRequest& request, Time now) {
  if (lease.id.empty() || !is_same(lease.id, request.id)) return fail(ErrorCode::kLeaseIdMismatchWithLeaseOperation);
  if (lease.breaks) return fail(ErrorCode::kLeaseIsBrokenAndCannotBeRenewed);
  return hold(lease, lease.id, lease.duration_s, now);
}

Result<LeaseAnswer> change(Lease& lease, const LeaseRequest& request, Time now) {
  const auto state = lease.state(now);
  const bool there = state == LeaseState::kLeased || state == LeaseState::kBreaking;
  if (!there) return fail(ErrorCode::kLeaseNotPresentWithLeaseOperation);
  if (!is_same(lease.id, request.id) && !is_same(lease.id, request.proposed)) {
    return fail(ErrorCode::kLeaseIdMismatchWithLeaseOperation);
  }
  if (state == LeaseState::kBreaking) return fail(ErrorCode::kLeaseIsBreakingAndCannotBeChanged);
  lease.id = request.proposed;
  return LeaseAnswer{lease.id, 0};
}

Result<LeaseAnswer> release(Lease& lease, const LeaseRequest& request) {
  if (lease.id.empty() || !is_same(lease.id, request.id)) return fail(ErrorCode::kLeaseIdMismatchWithLeaseOperation);
  lease = {};
  return LeaseAnswer{};
}

/// A lease that breaks or ends sooner than the request asks for stays as it is.
Result<LeaseAnswer> break_lease(Lease& lease, const LeaseRequest& request, Time now) {
  const auto state = lease.state(now);
  if (state == LeaseState::kAvailable) return fail(ErrorCode::kLeaseNotPresentWithLeaseOperation);
  if (state == LeaseState::kBroken) return LeaseAnswer{lease.id, 0};
  std::optional<Time> end = lease.breaks;
  if (!end && lease.duration_s != kForEver) end = lease.ends;
  const auto wanted = request.break_period_s ? std::optional(now + seconds(*request.break_period_s)) : std::nullopt;
  lease.breaks = end && wanted ? std::min(*end, *wanted) : end ? *end : wanted.value_or(now);
  return LeaseAnswer{lease.id, seconds_until(*lease.breaks, now)};
}

ErrorCode mismatch(Leased what) {
  return what == Leased::kBlob ? ErrorCode::kLeaseIdMismatchWithBlobOperation
                               : ErrorCode::kLeaseIdMismatchWithContainerOperation;
}
ErrorCode not_present(Leased what) {
  return what == Leased::kBlob ? ErrorCode::kLeaseNotPresentWithBlobOperation
                               : ErrorCode::kLeaseNotPresentWithContainerOperation;
}

std::unexpected<Error> lost() {
  return fail(ErrorCode::kLeaseLost, "A lease ID was specified, but the lease for the resource has expired.");
}

}  // namespace

std::optional<std::string> parse_lease_id(std::string_view text) {
  const bool enclosed = is_enclosed(text);
  auto id = to_lower_ascii(enclosed ? text.substr(1, text.size() - 2) : text);
  if (!enclosed && id.size() == kGuid.size() - 4) {
    for (auto dash = kGuid.find('-'); dash != kGuid.npos; dash = kGuid.find('-', dash + 1)) id.insert(dash, 1, '-');
  }
  const bool is_guid = std::ranges::equal(id, kGuid, [](char given, char shape) {
    return shape == '-' ? given == '-' : kHexDigits.find(given) != kHexDigits.npos;
  });
  return is_guid ? std::optional(std::move(id)) : std::nullopt;
}

std::string_view name_of(LeaseState state) {
  switch (state) {
    case LeaseState::kAvailable:
      return "available";
    case LeaseState::kLeased:
      return "leased";
    case LeaseState::kBreaking:
      return "breaking";
    case LeaseState::kBroken:
      return "broken";
    case LeaseState::kExpired:
      return "expired";
  }
  return "available";
}

LeaseState Lease::state(Time now) const {
  if (id.empty()) return LeaseState::kAvailable;
  if (breaks) return *breaks <= now ? LeaseState::kBroken : LeaseState::kBreaking;
  if (duration_s != kForEver && ends <= now) return LeaseState::kExpired;
  return LeaseState::kLeased;
}

bool Lease::locked(Time now) const {
  const auto at = state(now);
  return at == LeaseState::kLeased || at == LeaseState::kBreaking;
}

Result<LeaseAnswer> act(Lease& lease, const LeaseRequest& request, Time now) {
  switch (request.action) {
    case LeaseAction::kAcquire:
      return acquire(lease, request, now);
    case LeaseAction::kRenew:
      return renew(lease, request, now);
    case LeaseAction::kChange:
      return change(lease, request, now);
    case LeaseAction::kRelease:
      return release(lease, request);
    case LeaseAction::kBreak:
      return break_lease(lease, request, now);
  }
  return fail(ErrorCode::kInvalidHeaderValue);
}

Result<void> check_lease_of_write(Lease& lease, const std::string& id, Time now, Leased what) {
  if (lease.locked(now)) {
    if (id.empty()) return fail(ErrorCode::kLeaseIdMissing);
    return is_same(id, lease.id) ? Result<void>() : fail(mismatch(what));
  }
  if (id.empty()) {
    lease = {};
    return {};
  }
  return lease.id.empty() ? fail(not_present(what)) : lost();
}

Result<void> check_lease_of_read(const Lease& lease, const std::string& id, Time now, Leased what) {
  if (id.empty()) return {};
  if (!lease.locked(now)) return lease.id.empty() ? fail(not_present(what)) : lost();
  return is_same(id, lease.id) ? Result<void>() : fail(mismatch(what));
}

}  // namespace tidemark::blob_store
