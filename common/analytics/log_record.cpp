#include "common/analytics/log_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

#include "common/base/text.h"

namespace tidemark::analytics {
namespace {

constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{
    "Success",          "ThrottlingError",  "ClientTimeoutError", "ServerTimeoutError",
    "ClientOtherError", "ServerOtherError", "AuthorizationError", "NetworkError"};
constexpr std::array<std::string_view, kLogins> kLoginPrefixes{"", "SAS", "Anonymous", ""};
constexpr std::array<std::string_view, kLogins> kLoginTypes{"authenticated", "sas", "anonymous", "bearer"};

/// Escapes as HTML does. It escapes line breaks and other control characters too, so that a record is always one line.
void append_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) {
          fmt::format_to(std::back_inserter(out), "&#{};", byte);
        } else {
          out.push_back(c);
        }
    }
  }
}

/// Appends fields, each with the semicolon before it.
class Line {
 public:
  explicit Line(std::string& out) : out_(out) {}
  Line& plain(std::string_view text) {
    out_ += ';';
    out_ += text;
    return *this;
  }
  Line& number(std::uint64_t value) {
    fmt::format_to(std::back_inserter(out_), ";{}", value);
    return *this;
  }
  /// Appends a field that may contain a delimiter.
  Line& quoted(std::string_view text) {
    out_ += ';';
    if (text.empty()) return *this;
    out_ += '"';
    append_encoded(out_, text);
    out_ += '"';
    return *this;
  }

 private:
  std::string& out_;
};

/// Turns an HTTP date into "Tuesday, 09-Aug-11 18:52:40 GMT"; empty if the text is not an HTTP date.
std::string long_date(std::string_view http_date) {
  const auto time = parse_rfc1123(http_date);
  if (!time) return {};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
  return fmt::format("{:%A, %d-%b-%y %H:%M:%S} GMT", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

/// Removes the quotes of an ETag, since the field has quotes of its own. A weak ETag keeps them.
std::string_view bare(std::string_view etag) {
  const bool quoted = etag.size() >= 2 && etag.front() == '"' && etag.back() == '"';
  return quoted ? etag.substr(1, etag.size() - 2) : etag;
}

}  // namespace

Outcome outcome_of(unsigned http_status, bool timed_out) {
  if (timed_out) return Outcome::kServerTimeoutError;
  if (http_status < 300) return Outcome::kSuccess;
  if (http_status == 401 || http_status == 403) return Outcome::kAuthorizationError;
  if (http_status == 503) return Outcome::kThrottlingError;
  return http_status < 500 ? Outcome::kClientOtherError : Outcome::kServerOtherError;
}

std::string status_name(Outcome outcome, Login login) {
  return std::string(kLoginPrefixes[static_cast<std::size_t>(login)])
      .append(kOutcomeNames[static_cast<std::size_t>(outcome)]);
}

bool is_logged(unsigned http_status, Login login) {
  return login != Login::kAnonymous || http_status <= 304 || http_status >= 500;
}

void append_log_line(std::string& out, const LogRecord& record, LogVersion version) {
  out += version == LogVersion::k1 ? "1.0" : "2.0";
  Line line(out);
  line.plain(to_iso8601_7digits(record.started))
      .plain(record.operation.name)
      .plain(status_name(record.outcome, record.login))
      .number(record.http_status)
      .number(record.end_to_end_ms)
      .number(record.server_ms)
      .plain(kLoginTypes[static_cast<std::size_t>(record.login)])
      .plain(record.requester)
      .plain(record.owner)
      .plain(record.service)
      .quoted(record.url)
      .quoted(record.object_key)
      .plain(record.request_id)
      .number(0)  // the operation's number within the request: one request is one record
      .plain(record.address)
      .plain(is_version(record.version) ? record.version : "")
      .number(record.request_head_bytes)
      .number(record.request_body_bytes)
      .number(record.response_head_bytes)
      .number(record.response_body_bytes)
      .number(record.content_length)
      .quoted(record.request_md5)
      .quoted(record.server_md5)
      .quoted(bare(record.etag))
      .plain(long_date(record.last_modified))
      .quoted(record.conditions)
      .quoted(record.user_agent)
      .quoted(record.referrer)
      .quoted(record.client_request_id);
  // The fields behind these are application, audience, issuer, principal, a reserved field, and the authorization
  // detail.
  if (version == LogVersion::k2) {
    line.quoted(record.user_id).quoted(record.tenant_id);
    out += ";;;;;;";
  }
  out += '\n';
}

Time hour_of(Time time) { return std::chrono::floor<std::chrono::hours>(time); }

std::string log_name(std::string_view service, Time hour, std::uint64_t number) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(hour);
  return fmt::format("{}/{:%Y/%m/%d/%H%M}/{:06}.log", service,
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), number);
}

std::optional<Time> hour_in_log_name(std::string_view service, std::string_view name) {
  // SERVICE/YYYY/MM/DD/hhmm/
  if (!name.starts_with(service)) return std::nullopt;
  name.remove_prefix(service.size());
  constexpr std::string_view kShape = "/0000/00/00/0000/";
  if (name.size() < kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == '0' ? !is_digit(name[i]) : name[i] != kShape[i]) return std::nullopt;
  }
  return parse_iso8601(fmt::format("{}-{}-{}T{}:{}:00Z", name.substr(1, 4), name.substr(6, 2), name.substr(9, 2),
                                   name.substr(12, 2), name.substr(14, 2)));
}

std::string log_type(std::uint8_t accesses) {
  std::string out;
  for (const auto& [access, name] :
       {std::pair{Access::kRead, "read"}, {Access::kWrite, "write"}, {Access::kDelete, "delete"}}) {
    if ((accesses & static_cast<std::uint8_t>(access)) != 0) out.append(out.empty() ? "" : ",").append(name);
  }
  return out;
}

}  // namespace tidemark::analytics
