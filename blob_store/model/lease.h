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

/// The id in the form in which leases have it: a GUID in lower case, with dashes. It may also be given without dashes,
/// or in braces or parentheses. Nothing if it is no GUID.
std::optional<std::string> parse_lease_id(std::string_view text);

enum class LeaseState { kAvailable, kLeased, kBreaking, kBroken, kExpired };
std::string_view name_of(LeaseState state);

/// What is stored; how it stands depends on the time.
struct Lease {
  std::string id;               // of parse_lease_id(); empty: there is none
  std::int64_t duration_s = 0;  // -1: for ever
  Time ends{};                  // of one that is not for ever
  std::optional<Time> breaks;   // since when, or from when on, it is broken
  [[nodiscard]] LeaseState state(Time now) const;
  [[nodiscard]] bool locked(Time now) const;
};

enum class LeaseAction { kAcquire, kRenew, kChange, kRelease, kBreak };

struct LeaseRequest {
  LeaseAction action = LeaseAction::kAcquire;
  std::string id;        // of parse_lease_id(); x-ms-lease-id
  std::string proposed;  // likewise; of acquire, where it is never empty, and change
  std::int64_t duration_s = -1;
  std::optional<std::int64_t> break_period_s;
};

struct LeaseAnswer {
  std::string id;                 // after acquire, renew and change
  std::int64_t seconds_left = 0;  // after break: until it is broken
};

/// Whose lease it is decides which of the two groups of error codes is used.
enum class Leased { kBlob, kContainer };

/// Errors: kLeaseAlreadyPresent, kLeaseIdMismatchWithLeaseOperation, kLeaseNotPresentWithLeaseOperation,
/// kLeaseIsBreakingAndCannotBeAcquired, kLeaseIsBreakingAndCannotBeChanged, kLeaseIsBrokenAndCannotBeRenewed.
Result<LeaseAnswer> act(Lease& lease, const LeaseRequest& request, Time now);

/// Whether a write with this lease id ("" if it has none) may go on; it ends a lease that is broken or has expired.
/// Errors: kLeaseIdMissing, kLeaseLost, kLeaseIdMismatchWith..., kLeaseNotPresentWith...Operation.
Result<void> check_lease_of_write(Lease& lease, const std::string& id, Time now, Leased what);
/// Likewise a read, which needs no id, but whose id must be right.
Result<void> check_lease_of_read(const Lease& lease, const std::string& id, Time now, Leased what);

}  // namespace tidemark::blob_store
