// Kinds of job that users declare, and whose jobs their own processes do over HTTP (docs/workers.md). Pure.
//   {"leaseSeconds":30,"maxAttempts":5,"retryBaseMs":1000,"retryCapMs":60000,"keepHours":48,
//    "perKey":{"running":2,"perSecond":10},"steps":true}
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.h"

namespace tidemark::jobs {

class SpecMembers;

inline constexpr std::size_t kMaxKindName = 32;
inline constexpr std::uint32_t kMaxKindVersion = 999'999;
inline constexpr const char* kKindNamePattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$";
inline constexpr std::string_view kKindNameRule =
    "must have 1 to 32 lower-case letters, digits and single hyphens between them, a letter first, and be none of "
    "Tidemark's own kinds";
/// Tells whether users may give a kind this name.
bool is_own_kind_name(std::string_view name);

/// The limits for the jobs of one kind with one key.
struct PerKey {
  std::uint32_t running = 0;     // at once; 0: no limit
  std::uint32_t per_second = 0;  // 0: no limit
  bool operator==(const PerKey&) const = default;
  void members(SpecMembers& in);
};

struct OwnKind {
  std::string name;
  std::uint32_t lease_seconds = 30;
  /// The values of jobs that do not give others.
  std::uint32_t max_attempts = 5;
  std::optional<std::uint32_t> retry_base_ms, retry_cap_ms, keep_hours;
  std::optional<PerKey> per_key;
  bool steps = false;  // its workers may end jobs with steps, which write in Tidemark's name
  bool operator==(const OwnKind&) const = default;
  static constexpr const char* kSchema = "OwnKindSpec";
  /// All but the name.
  void members(SpecMembers& in);
  [[nodiscard]] Duration lease() const { return std::chrono::seconds(lease_seconds); }
};
using OwnKinds = std::vector<OwnKind>;
/// Null: it is not declared.
const OwnKind* find_kind(const OwnKinds& kinds, std::string_view name);

}  // namespace tidemark::jobs
