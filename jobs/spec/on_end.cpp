#include "jobs/spec/on_end.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "jobs/callbacks/callback_url.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxHeaders = 20;
constexpr std::size_t kMaxHeaderNameBytes = 100;
constexpr std::size_t kMaxHeaderBytes = 8192;  // all names and values
constexpr std::size_t kMaxSecretName = 64;
constexpr std::size_t kMaxGroupId = 64;
constexpr std::uint32_t kMaxGroupNumber = 1'000'000;

// Ours to set, or about the connection.
constexpr std::string_view kReservedHeaders[] = {
    "host",    "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te",
    "trailer", "expect",         "idempotency-key"};
constexpr std::string_view kReservedPrefixes[] = {"webhook-", "tidemark-", "proxy-"};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_simple_name(std::string_view text, std::size_t most) {
  if (text.empty() || text.size() > most) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// A token of RFC 9110.
bool is_header_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxHeaderNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// Visible ASCII with blanks inside: no line can begin in it.
bool is_header_value(std::string_view value) {
  const bool blank_end = !value.empty() && (value.front() == ' ' || value.back() == ' ');
  return !blank_end && std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

bool is_reserved(const std::string& lower) {
  return std::find(std::begin(kReservedHeaders), std::end(kReservedHeaders), lower) != std::end(kReservedHeaders) ||
         std::any_of(std::begin(kReservedPrefixes), std::end(kReservedPrefixes),
                     [&](std::string_view prefix) { return lower.starts_with(prefix); });
}

void read_headers(SpecReader& in, CallbackEndpoint& out) {
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
    const auto shown = "headers: '" + name.substr(0, kMaxHeaderNameBytes) + "' ";
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

void read_endpoint(SpecReader& in, CallbackEndpoint& out) {
  if (auto url = in.text("url", true)) {
    auto parsed = parse_callback_url(*url);
    if (!parsed) in.problem("url " + parsed.error().message);
    out.url = std::move(*url);
  }
  read_headers(in, out);
  if (auto secret = in.text("secret", false)) {
    if (!is_simple_name(*secret, kMaxSecretName)) in.problem("secret must be the name of a secret of the worker");
    out.secret = std::move(*secret);
  }
}

void write_endpoint(const CallbackEndpoint& endpoint, ordered_json& out) {
  out["url"] = endpoint.url;
  if (!endpoint.headers.empty()) {
    auto& headers = out["headers"] = ordered_json::object();
    for (const auto& [name, value] : endpoint.headers) headers[name] = value;
  }
  if (endpoint.secret != kDefaultSecret) out["secret"] = endpoint.secret;
}

std::optional<CallbackEndpoint> read_on_end(SpecReader& in) {
  const auto* given = in.any("onEnd");
  if (given == nullptr) return std::nullopt;
  if (!given->is_object()) {
    in.problem("onEnd must be an object with a url");
    return std::nullopt;
  }
  SpecReader inner(*given);
  CallbackEndpoint endpoint;
  read_endpoint(inner, endpoint);
  inner.refuse_unknown();
  for (const auto& problem : inner.problems()) in.problem("onEnd: " + problem);
  return endpoint;
}

ordered_json on_end_json(const CallbackEndpoint& endpoint) {
  auto out = ordered_json::object();
  write_endpoint(endpoint, out);
  return out;
}

std::optional<GroupMember> read_group_member(SpecReader& in) {
  const auto* given = in.any("group");
  if (given == nullptr) return std::nullopt;
  GroupMember member;
  if (given->is_object()) {
    SpecReader inner(*given);
    member.id = inner.text("id", true).value_or("");
    member.number = static_cast<std::uint32_t>(inner.integer("number", 0, kMaxGroupNumber).value_or(0));
  }
  if (!is_group_id(member.id)) in.problem("group must be an object with the id of a group and a number");
  return member;
}

ordered_json group_json(const GroupMember& member) { return {{"id", member.id}, {"number", member.number}}; }

bool is_group_id(std::string_view text) { return is_simple_name(text, kMaxGroupId); }

}  // namespace tidemark::jobs
