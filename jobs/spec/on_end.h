// The members about the end of a job that every kind has: the endpoint that is called, and the group that counts the
// job. callback_policy.h decides which hosts are allowed. Pure.
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
  std::string secret{kDefaultSecret};                        // the name of the secret that signs it
  bool operator==(const CallbackEndpoint&) const = default;
  static constexpr const char* kSchema = "OnEnd";
  /// Reads or writes url, headers and secret, which onEnd and a callback job have.
  void members(SpecMembers& in);
};

/// A job's place in a group of jobs that were submitted together.
struct GroupMember {
  std::string id;
  std::uint32_t number = 0;
  bool operator==(const GroupMember&) const = default;
};

/// Reads, writes or describes the member "onEnd".
void on_end_member(SpecMembers& in, std::optional<CallbackEndpoint>& endpoint);
/// Reads the member "group" of a message: {"id":I,"number":N}.
std::optional<GroupMember> read_group_member(SpecMembers& in);
nlohmann::ordered_json group_json(const GroupMember& member);
/// Checks for 1 to 64 letters, digits, '-', '_' and '.'.
bool is_group_id(std::string_view text);

}  // namespace tidemark::jobs
