#include "common/auth/shared_key.h"

#include <algorithm>
#include <array>

#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::auth {
namespace {

constexpr auto kMaxSkew = std::chrono::minutes(15);
constexpr std::string_view kPrefix = "x-ms-";

// First-level weights; 0 is ignored at this level.
constexpr std::array<unsigned char, 256> make_weights() {
  std::array<unsigned char, 256> weights{};
  for (std::size_t i = 0; i < 256; ++i) weights[i] = 255;
  unsigned char next = 1;
  for (const char c : std::string_view("!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz")) {
    weights[static_cast<unsigned char>(c)] = next++;
  }
  weights['\''] = weights['-'] = 0;
  return weights;
}
constexpr auto kWeights = make_weights();

enum StandardHeader : std::size_t {
  kContentEncoding,
  kContentLanguage,
  kContentLength,
  kContentMd5,
  kContentType,
  kDate,
  kIfModifiedSince,
  kIfMatch,
  kIfNoneMatch,
  kIfUnmodifiedSince,
  kRange,
  kStandardHeaders
};
constexpr std::array<std::string_view, kStandardHeaders> kNames{
    "content-encoding",  "content-language", "content-length", "content-md5",         "content-type", "date",
    "if-modified-since", "if-match",         "if-none-match",  "if-unmodified-since", "range"};

struct Line {
  std::string name;  // lower case
  std::string_view value;
};

struct Headers {
  std::array<std::string_view, kStandardHeaders> standard{};  // the first one of each name
  std::vector<Line> extension;                                // x-ms-*, in order of arrival
  std::optional<std::string_view> ms_date;
  std::string_view ms_version;
};

Headers collect(const SignedRequest& request) {
  Headers out;
  out.extension.reserve(12);
  for (const auto& [name, value] : *request.headers) {
    if (name.size() >= kPrefix.size() && iequals_ascii(name.substr(0, kPrefix.size()), kPrefix)) {
      const auto& line = out.extension.emplace_back(to_lower_ascii(name), trimmed(value));
      if (line.name == "x-ms-date" && !out.ms_date) out.ms_date = line.value;
      if (line.name == "x-ms-version" && out.ms_version.empty()) out.ms_version = line.value;
      continue;
    }
    for (std::size_t i = 0; i < kStandardHeaders; ++i) {
      if (out.standard[i].data() == nullptr && iequals_ascii(name, kNames[i])) out.standard[i] = trimmed(value);
    }
  }
  return out;
}

bool ascii_before(const Line& a, const Line& b) { return a.name < b.name; }
bool collated_before(const Line& a, const Line& b) { return collates_before(a.name, b.name); }

void append_line(std::string& out, std::string_view value) {
  out.append(value);
  out.push_back('\n');
}

// A value that is folded over several lines counts as one, with one space for each fold.
void append_unfolded(std::string& out, std::string_view value) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\r' && value[i] != '\n') {
      out.push_back(value[i]);
      continue;
    }
    while (i + 1 < value.size() &&
           (value[i + 1] == '\r' || value[i + 1] == '\n' || value[i + 1] == ' ' || value[i + 1] == '\t')) {
      ++i;
    }
    out.push_back(' ');
  }
}

void append_extension_headers(std::string& out, const std::vector<Line>& sorted) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i].name == sorted[i - 1].name) {
      out.back() = ',';  // a repeated header is one list
    } else {
      out.append(sorted[i].name);
      out.push_back(':');
    }
    append_unfolded(out, sorted[i].value);
    out.push_back('\n');
  }
}

// All parameters in lower-case order of names, with the values of one name joined.
std::string all_parameters(const QueryParameters& query) {
  std::vector<std::pair<std::string, std::string_view>> parameters;
  for (const auto& [name, value] : query) parameters.emplace_back(to_lower_ascii(name), value);
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0 && parameters[i].first == parameters[i - 1].first) {
      out.push_back(',');
    } else {
      out.push_back('\n');
      out.append(parameters[i].first);
      out.push_back(':');
    }
    out.append(parameters[i].second);
  }
  return out;
}

// Returns comp alone. With two of them it returns nothing, since the code that serves the request could read the other.
std::optional<std::string> comp_parameter(const QueryParameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!iequals_ascii(name, "comp")) continue;
    if (!out.empty()) return std::nullopt;
    out.append("?comp=").append(value);
  }
  return out;
}

// Differences between clients, besides the order of the headers.
struct Spelling {
  bool language_first = false;
  bool without_secondary = false;
};

struct Parts {
  Service service;
  bool lite;
  const SignedRequest& request;
  const Resource& resource;
  Headers headers;
  std::string query_part;
};

void append_resource(std::string& out, const Parts& parts, const Spelling& spelling) {
  out.push_back('/');
  out.append(parts.resource.account);
  if (spelling.without_secondary) {
    out.push_back('/');
    out.append(parts.resource.account);
    out.append(parts.request.path.substr(1 + parts.resource.account.size() + kSecondary.size()));
  } else {
    out.append(parts.request.path.empty() ? "/" : parts.request.path);
  }
  out.append(parts.query_part);
}

std::string table_text(const Parts& parts, const Spelling& spelling) {
  const auto& standard = parts.headers.standard;
  std::string out;
  out.reserve(256 + parts.request.path.size());
  if (!parts.lite) {
    append_line(out, parts.request.method);
    append_line(out, standard[kContentMd5]);
    append_line(out, standard[kContentType]);
  }
  append_line(out, parts.headers.ms_date.value_or(standard[kDate]));
  append_resource(out, parts, spelling);
  return out;
}

std::string blob_queue_text(const Parts& parts, const Spelling& spelling) {
  const auto& standard = parts.headers.standard;
  const auto date = parts.headers.ms_date ? std::string_view() : standard[kDate];
  std::string out;
  out.reserve(768 + parts.request.path.size() + parts.query_part.size());
  append_line(out, parts.request.method);
  if (parts.lite) {
    append_line(out, standard[kContentMd5]);
    append_line(out, standard[kContentType]);
    append_line(out, date);
  } else {
    append_line(out, standard[spelling.language_first ? kContentLanguage : kContentEncoding]);
    append_line(out, standard[spelling.language_first ? kContentEncoding : kContentLanguage]);
    const bool old = !parts.headers.ms_version.empty() && parts.headers.ms_version < "2015-02-21";
    append_line(out, standard[kContentLength] == "0" && !old ? std::string_view() : standard[kContentLength]);
    append_line(out, standard[kContentMd5]);
    append_line(out, standard[kContentType]);
    append_line(out, date);
    for (const auto header : {kIfModifiedSince, kIfMatch, kIfNoneMatch, kIfUnmodifiedSince, kRange}) {
      append_line(out, standard[header]);
    }
  }
  append_extension_headers(out, parts.headers.extension);
  append_resource(out, parts, spelling);
  return out;
}

bool secondary_in_path(const Parts& parts) {
  // In host style the path is the same as `rest`, and does not say whether the secondary is meant.
  return parts.resource.secondary && parts.request.path.size() > parts.resource.rest.size() + 1 &&
         parts.request.path.size() > parts.resource.account.size() + std::string_view("-secondary").size();
}

bool verify_spellings(Parts& parts, const Account& account, std::string_view signature) {
  const bool table = parts.service == Service::kTable;
  const bool one_of_two =
      parts.headers.standard[kContentEncoding].empty() != parts.headers.standard[kContentLanguage].empty();
  auto& lines = parts.headers.extension;
  if (!table) std::stable_sort(lines.begin(), lines.end(), collated_before);
  const bool orders_differ = !table && !std::is_sorted(lines.begin(), lines.end(), ascii_before);
  const int orders = orders_differ ? 2 : 1;
  const int languages = !table && !parts.lite && one_of_two ? 2 : 1;
  const int paths = secondary_in_path(parts) ? 2 : 1;
  for (int order = 0; order < orders; ++order) {
    if (order == 1) std::stable_sort(lines.begin(), lines.end(), ascii_before);
    for (int language = 0; language < languages; ++language) {
      for (int path = 0; path < paths; ++path) {
        const Spelling spelling{language == 1, path == 1};
        const auto text = table ? table_text(parts, spelling) : blob_queue_text(parts, spelling);
        if (signature_matches(account, text, signature, Repeated::kNo)) return true;
      }
    }
  }
  return false;
}

Result<void> check_date(const Headers& headers, Time now, const Policy& policy) {
  const auto date = headers.ms_date.value_or(headers.standard[kDate]);
  if (date.empty()) return fail(authentication_failed("Send the time of the request in the x-ms-date header."));
  if (!policy.check_clock_skew) return {};
  const auto sent = parse_rfc1123(date);
  if (!sent) return fail(authentication_failed("The x-ms-date (or Date) header must be an RFC 1123 date in GMT."));
  if (*sent < now - kMaxSkew || *sent > now + kMaxSkew) {
    return fail(authentication_failed(
        "The date of the request differs from the server's clock by more than 15 minutes. Set the client's clock; "
        "the server's time is " +
        to_rfc1123(now) + "."));
  }
  return {};
}

}  // namespace

bool collates_before(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  auto weight = [](char c) { return kWeights[static_cast<unsigned char>(c)]; };
  while (true) {
    while (i < a.size() && weight(a[i]) == 0) ++i;
    while (j < b.size() && weight(b[j]) == 0) ++j;
    if (i == a.size() || j == b.size()) break;
    if (weight(a[i]) != weight(b[j])) return weight(a[i]) < weight(b[j]);
    ++i;
    ++j;
  }
  if ((i == a.size()) != (j == b.size())) return i == a.size();
  // The names differ in ignorable characters only: the first difference decides, and an ignorable character sorts last.
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return x == a.end() && y != b.end();
  if (weight(*x) != weight(*y)) return weight(*x) != 0;
  return *x < *y;
}

Result<Identity> verify_shared_key(Service service, const SignedRequest& request, const Resource& resource,
                                   const Account& account, std::string_view authorization, Time now,
                                   const Policy& policy) {
  const auto space = authorization.find(' ');
  const auto colon = authorization.find(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
    return fail(ErrorCode::kInvalidAuthenticationInfo);
  }
  if (authorization.substr(space + 1, colon - space - 1) != resource.account) {
    return fail(authentication_failed("The account in the Authorization header is not the account of the URL."));
  }
  const bool lite = authorization.substr(0, space) == "SharedKeyLite";
  const auto signature = authorization.substr(colon + 1);
  Parts parts{service, lite, request, resource, collect(request), {}};
  TRY(check_date(parts.headers, now, policy));
  if (lite || service == Service::kTable) {
    auto comp = comp_parameter(*request.parameters);
    if (!comp) return fail(authentication_failed("The query of the URL has more than one comp parameter."));
    parts.query_part = std::move(*comp);
  } else {
    parts.query_part = all_parameters(*request.parameters);
  }
  if (!verify_spellings(parts, account, signature)) {
    return fail(authentication_failed(
        "The signature does not match the request. Check the account key, and that no proxy changes the path, the "
        "query or the headers."));
  }
  Identity identity;
  identity.scheme = Scheme::kSharedKey;
  identity.account = resource.account;
  return identity;
}

}  // namespace tidemark::auth
