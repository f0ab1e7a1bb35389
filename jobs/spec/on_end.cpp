#include "jobs/spec/on_end.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/callbacks/callback_url.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::ordered_json;

constexpr About kAboutUrl{.meaning = "where to",
                          .detail = "an absolute URL of a host that callback_hosts allows",
                          .most = kMaxCallbackUrlBytes};
constexpr About kAboutHeaders{
    .meaning = "headers of the request",
    .detail = "stored with the job, in the clear; names that the worker sets, such as webhook-id, are refused",
    .option = "callback: a header, as \"Name: value\"; may be given again",
    .flag = "--header"};
constexpr About kAboutSecret{.meaning = "name of the worker's secret that signs it"};
constexpr About kAboutOnEnd{.option = "URL to call when the job has ended"};

constexpr std::size_t kMaxHeaders = 20;
constexpr std::size_t kMaxHeaderNameBytes = 100;
constexpr std::size_t kMaxHeaderBytes = 8192;  // all names and values
constexpr std::size_t kMaxSecretName = 64;
constexpr std::size_t kMaxGroupId = 64;
constexpr std::uint32_t kMaxGroupNumber = 1'000'000;

// Headers that Tidemark sets, or that concern the connection.
constexpr std::string_view kReservedHeaders[] = {
    "host",    "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te",
    "trailer", "expect",         "idempotency-key"};
constexpr std::string_view kReservedPrefixes[] = {"webhook-", "tidemark-", "proxy-"};

/// Checks for a token of RFC 9110.
bool is_header_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxHeaderNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// Checks for visible ASCII with blanks inside: no line can begin in it.
bool is_header_value(std::string_view value) {
  const bool blank_end = !value.empty() && (value.front() == ' ' || value.back() == ' ');
  return !blank_end && std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

bool is_reserved(const std::string& lower) {
  return std::find(std::begin(kReservedHeaders), std::end(kReservedHeaders), lower) != std::end(kReservedHeaders) ||
         std::any_of(std::begin(kReservedPrefixes), std::end(kReservedPrefixes),
                     [&](std::string_view prefix) { return lower.starts_with(prefix); });
}

void read_headers(SpecMembers& in, CallbackEndpoint& out) {
  if (in.describes()) {
    return in.describe(
        "headers", {{"type", "object"}, {"maxProperties", kMaxHeaders}, {"additionalProperties", {{"type", "string"}}}},
        kAboutHeaders);
  }
  const auto* given = in.any("headers");
  if (given == nullptr) return;
  if (!given->is_object() || given->size() > kMaxHeaders) {
    in.problem("headers must be an object of at most 20 names and values");
    return;
  }
  std::vector<std::string> seen;
  std::size_t bytes = 0;
  for (const auto& [name, value] : given->items()) {
    const auto lower = to_lower_ascii(name);
    const auto shown = "headers: '" + std::string(beginning_of(name, kMaxHeaderNameBytes)) + "' ";
    if (!is_header_name(name)) {
      in.problem(shown + "is no name of a header");
    } else if (is_reserved(lower)) {
      in.problem(shown + "is set by the worker");
    } else if (std::find(seen.begin(), seen.end(), lower) != seen.end()) {
      in.problem(shown + "is there twice");
    } else if (!value.is_string() || !is_header_value(value.get_ref<const std::string&>())) {
      in.problem(shown + "must have a value of visible ASCII characters");
    } else {
      bytes += name.size() + value.get_ref<const std::string&>().size();
      out.headers.emplace_back(name, value.get<std::string>());
    }
    seen.push_back(lower);
  }
  if (bytes > kMaxHeaderBytes) in.problem("headers must not have more than 8192 characters together");
}

}  // namespace

void CallbackEndpoint::members(SpecMembers& in) {
  if (in.text("url", url, true, kAboutUrl)) {
    const auto parsed = parse_callback_url(url);
    if (!parsed) in.problem("url " + parsed.error().message);
  }
  read_headers(in, *this);
  if (in.writes() && !headers.empty()) {
    auto all = ordered_json::object();
    for (const auto& [name, value] : headers) all[name] = value;
    in.put("headers", std::move(all));
  }
  if (in.writes() && secret == kDefaultSecret) return;
  if (in.text("secret", secret, kAboutSecret) && !is_simple_name(secret, kMaxSecretName)) {
    in.problem("secret must be the name of a secret of the worker");
  }
}

void on_end_member(SpecMembers& in, std::optional<CallbackEndpoint>& endpoint) {
  in.object("onEnd", endpoint, "a url", kAboutOnEnd);
}

std::optional<GroupMember> read_group_member(SpecMembers& in) {
  const auto* given = in.any("group");
  if (given == nullptr) return std::nullopt;
  GroupMember member;
  if (given->is_object()) {
    SpecMembers inner(*given);
    inner.text("id", member.id);
    inner.number("number", member.number, 0, kMaxGroupNumber);
  }
  if (!is_group_id(member.id)) in.problem("group must be an object with the id of a group and a number");
  return member;
}

ordered_json group_json(const GroupMember& member) { return {{"id", member.id}, {"number", member.number}}; }

bool is_group_id(std::string_view text) { return is_simple_name(text, kMaxGroupId); }

}  // namespace tidemark::jobs
