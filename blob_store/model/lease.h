// The lease of a blob or a container: a lock that a client holds for 15 to 60 seconds or for ever. Pure.
// https://learn.microsoft.com/rest/api/storageservices/lease-blob has the table of states and actions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::blob_store {

/// Returns the id in the form that leases store: a GUID in lower case, with dashes. The text may also lack the dashes,
/// or be in braces or parentheses. Returns nothing if the text is no GUID.
std::optional<std::string> parse_lease_id(std::string_view text);

enum class LeaseState { kAvailable, kLeased, kBreaking, kBroken, kExpired };
std::string_view name_of(LeaseState state);

/// The stored part of a lease; its state depends on the time.
struct Lease {
  std::string id;               // as parse_lease_id() returns it; empty: no lease
  std::int64_t duration_s = 0;  // -1: for ever
  Time ends{};                  // unless the lease is for ever
  std::optional<Time> breaks;   // when it broke or will break
  [[nodiscard]] LeaseState state(Time now) const;
  [[nodiscard]] bool locked(Time now) const;
};

enum class LeaseAction : std::uint8_t {
  kAcquire = 1,
  kRenew = 2,
  kChange = 3,
  kRelease = 4,
  kBreak = 5,
  kLast = kBreak
};

struct LeaseRequest {
  LeaseAction action = LeaseAction::kAcquire;
  std::string id;        // x-ms-lease-id, as parse_lease_id() returns it
  std::string proposed;  // likewise; for acquire, where it is never empty, and for change
  std::int64_t duration_s = -1;
  std::optional<std::int64_t> break_period_s;
};

struct LeaseAnswer {
  std::string id;                 // set by acquire, renew and change
  std::int64_t seconds_left = 0;  // set by break: the time until the lease is broken
};

/// The owner of the lease decides which of the two groups of error codes is used.
enum class Leased { kBlob, kContainer };

/// Errors: kLeaseAlreadyPresent, kLeaseIdMismatchWithLeaseOperation, kLeaseNotPresentWithLeaseOperation,
/// kLeaseIsBreakingAndCannotBeAcquired, kLeaseIsBreakingAndCannotBeChanged, kLeaseIsBrokenAndCannotBeRenewed.
Result<LeaseAnswer> act(Lease& lease, const LeaseRequest& request, Time now);

/// Checks whether a write with this lease id ("" if it has none) may go on; ends a lease that is broken or has expired.
/// Errors: kLeaseIdMissing, kLeaseLost, kLeaseIdMismatchWith..., kLeaseNotPresentWith...Operation.
Result<void> check_lease_of_write(Lease& lease, const std::string& id, Time now, Leased what);
/// Checks a read likewise: it needs no id, but an id that it gives must be right.
Result<void> check_lease_of_read(const Lease& lease, const std::string& id, Time now, Leased what);

}  // namespace tidemark::blob_store
