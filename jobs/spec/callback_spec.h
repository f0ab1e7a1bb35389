// What a job says about callbacks: the members of kind callback, and onEnd, which any job may have. Reading and writing
// their JSON. Which hosts are allowed is another question (callback_policy.h). Pure.
//   callback   url method? headers? body? timeoutMs? secret?
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

class SpecReader;

inline constexpr std::string_view kDefaultSecret = "default";

struct CallbackEndpoint {
  std::string url;                                           // valid
  std::vector<std::pair<std::string, std::string>> headers;  // by name
  std::string secret{kDefaultSecret};                        // name of what signs it
  bool operator==(const CallbackEndpoint&) const = default;
};

/// A signed request to a user's endpoint.
struct CallbackSpec : CallbackEndpoint {
  std::string method = "POST";
  std::optional<std::string> body;  // the bytes to send
  bool body_is_json = true;
  std::uint32_t timeout_ms = 10'000;
  bool operator==(const CallbackSpec&) const = default;
};

/// A job's place among those that were submitted as one.
struct GroupMember {
  std::string id;
  std::uint32_t number = 0;
  bool operator==(const GroupMember&) const = default;
};

CallbackSpec read_callback_spec(SpecReader& in);
void write_callback_spec(const CallbackSpec& spec, nlohmann::ordered_json& out);
/// Member "onEnd", if there is one.
std::optional<CallbackEndpoint> read_on_end(SpecReader& in);
nlohmann::ordered_json on_end_json(const CallbackEndpoint& endpoint);
/// Member "group" of a message: {"id":I,"number":N}.
std::optional<GroupMember> read_group_member(SpecReader& in);
nlohmann::ordered_json group_json(const GroupMember& member);
/// 1 to 64 of letters, digits, '-', '_' and '.'.
bool is_group_id(std::string_view text);

}  // namespace tidemark::jobs
