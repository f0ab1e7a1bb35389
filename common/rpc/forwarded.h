// Calls that one process of a service passes on to another process of the same service: their methods have a prefix,
// such as "forwarded.", or "forwarded.7." for a call that belongs to shard 7.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/numbers.h"

namespace tidemark::rpc {

inline constexpr std::string_view kForwarded = "forwarded.";

/// Makes the method of a call that is passed on to the process that serves the shard.
inline std::string forwarded_to(std::size_t shard, std::string_view method) {
  return std::string(kForwarded).append(std::to_string(shard)).append(".").append(method);
}

struct Forwarded {
  std::string_view method;  // without the prefix
  bool forwarded = false;
  std::optional<std::size_t> shard = {};
};

inline Forwarded read_forwarded(std::string_view method) {
  if (!method.starts_with(kForwarded)) return {method};
  method.remove_prefix(kForwarded.size());
  const auto dot = method.find('.');
  const auto shard = parse_number<std::size_t>(method.substr(0, dot), 0, SIZE_MAX);
  if (!shard || dot == std::string_view::npos) return {method, true};
  return {method.substr(dot + 1), true, shard};
}

/// Returns the method without the prefix, if it has one.
inline std::string_view bare_method(std::string_view method) { return read_forwarded(method).method; }

}  // namespace tidemark::rpc
