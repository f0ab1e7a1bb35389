// What any job may say about its end: the endpoint that is told of it, and the group that it is counted for. Which
// hosts are allowed is another question (callback_policy.h). Pure.
//   onEnd      {"url":U,"headers"?:{...},"secret"?:NAME}
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark::jobs {

class SpecMembers;

inline constexpr std::string_view kDefaultSecret = "default";

struct CallbackEndpoint {
  std::string url;                                           // valid
  std::vector<std::pair<std::string, std::string>> headers;  // by name
  std::string secret{kDefaultSecret};                        // name of what signs it
  bool operator==(const CallbackEndpoint&) const = default;
  /// url, headers and secret, of onEnd and of a callback job.
  void members(SpecMembers& in);
};

/// A job's place among those that were submitted as one.
struct GroupMember {
  std::string id;
  std::uint32_t number = 0;
  bool operator==(const GroupMember&) const = default;
};

/// Member "onEnd", if there is one.
std::optional<CallbackEndpoint> read_on_end(SpecMembers& in);
nlohmann::ordered_json on_end_json(const CallbackEndpoint& endpoint);
/// Member "group" of a message: {"id":I,"number":N}.
std::optional<GroupMember> read_group_member(SpecMembers& in);
nlohmann::ordered_json group_json(const GroupMember& member);
/// 1 to 64 of letters, digits, '-', '_' and '.'.
bool is_group_id(std::string_view text);

}  // namespace tidemark::jobs
