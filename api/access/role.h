// The rights of a caller of the api, from none to all. A role includes the roles before it, except that the role worker
// stands beside the others: it may claim jobs of users' own kinds and end them, and nothing else. Pure.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::api {

enum class Role : std::uint8_t {
  kNone,      // the rights that every caller has
  kViewer,    // may read everything
  kOperator,  // keeps the work going: submits, cancels, sends back, pauses
  kAdmin,     // changes things that others rely on: limits, indexes, kept changes
  kWorker,    // does jobs of users' own kinds, which operators may do, too
};

inline constexpr std::array<std::string_view, 5> kRoleNames{"none", "viewer", "operator", "admin", "worker"};

/// Tells whether a caller with the role `has` may do what needs the role `needed`.
constexpr bool includes(Role has, Role needed) {
  if (needed == Role::kWorker) return has == Role::kWorker || has == Role::kOperator || has == Role::kAdmin;
  if (has == Role::kWorker) return needed == Role::kNone;
  return has >= needed;
}

constexpr std::string_view role_name(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

/// Returns a role that a token can have; nothing for other names.
constexpr std::optional<Role> role_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kRoleNames, name);
  if (found == kRoleNames.end() || found == kRoleNames.begin()) return std::nullopt;
  return static_cast<Role>(found - kRoleNames.begin());
}

}  // namespace tidemark::api
