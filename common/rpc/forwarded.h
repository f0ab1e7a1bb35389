// Calls that one process of a service passes on to another process of the same service: their methods have a prefix.
#pragma once
#include <string_view>

namespace tidemark::rpc {

inline constexpr std::string_view kForwarded = "forwarded.";

/// Returns the method without the prefix, if it has one.
constexpr std::string_view bare_method(std::string_view method) {
  return method.starts_with(kForwarded) ? method.substr(kForwarded.size()) : method;
}

}  // namespace tidemark::rpc
