// The built-in roles of Azure Storage for data, and the rights of each, in the letters of a SAS. A token names its
// roles in a claim, such as "Storage Blob Data Reader"; the comparison ignores case and all characters but letters.
// Pure.
#pragma once
#include <string>
#include <vector>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

// The numbers take part in the derivation of delegation keys, so they never change.
inline constexpr Roles kReader = 1;
inline constexpr Roles kContributor = 2;
inline constexpr Roles kOwner = 4;
inline constexpr Roles kDelegator = 8;
inline constexpr Roles kMessageProcessor = 16;
inline constexpr Roles kMessageSender = 32;
inline constexpr Roles kRolesEnd = 64;  // greater than every set of roles

/// Returns those of the names that are roles of this service.
Roles roles_of(Service service, const std::vector<std::string>& names);
/// Tells whether the roles give the right that the letter stands for, on a resource of this type.
bool roles_allow(Service service, Roles roles, ResourceType type, char letter);
/// Gives roles with the same rights one form: a strong role includes the weak ones.
Roles strongest(Roles roles);

}  // namespace tidemark::auth
