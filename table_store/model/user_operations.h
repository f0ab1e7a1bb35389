// The operations that users name in headers (docs/fences.md), as the store knows them.
#pragma once
#include <string>
#include <string_view>

namespace tidemark::table_store {

/// Keeps operations of users apart from those of Tidemark's own jobs, which a user must not be able to close.
inline constexpr std::string_view kUserOperation = "user:";

}  // namespace tidemark::table_store
