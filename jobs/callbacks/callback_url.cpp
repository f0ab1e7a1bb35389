#include "jobs/callbacks/callback_url.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::jobs {
namespace {

namespace ip = boost::asio::ip;
namespace urls = boost::urls;

constexpr std::size_t kMaxHostBytes = 253;
constexpr std::size_t kMaxLabelBytes = 63;

std::unexpected<Error> refuse(const char* why) { return fail(ErrorCode::kInvalidInput, why); }

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabelBytes || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '_'; });
}

/// Old resolvers take 1, 0x7f.1 and 017700000001 for IPv4 addresses; a name never ends in such a label.
bool reads_as_number(std::string_view label) {
  if (label.starts_with("0x")) return true;
  return std::all_of(label.begin(), label.end(), &is_digit);
}

bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > kMaxHostBytes) return false;
  std::string_view label;
  for (std::size_t start = 0; start <= host.size(); start += label.size() + 1) {
    label = host.substr(start, host.find('.', start) - start);
    if (!is_label(label)) return false;
  }
  return !reads_as_number(label);
}

/// Returns the text between "//" and the path: Boost 1.81 ends it early for "1.2.3.4.5" and "h:80:80".
std::string_view authority_in(std::string_view text) {
  const auto begin = text.find("//");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + 2);
  return text.substr(0, text.find_first_of("/?#"));
}

Result<void> read_host(const urls::url_view& url, CallbackUrl& out) {
  const std::string encoded(url.encoded_host().data(), url.encoded_host().size());
  boost::system::error_code bad;
  switch (url.host_type()) {
    case urls::host_type::name:
      out.host = to_lower_ascii(encoded);
      if (!is_host_name(out.host)) return refuse("must name a host by letters, digits, '-' and '.', or by its address");
      return {};
    case urls::host_type::ipv4:
      out.host = encoded;
      out.address = ip::make_address_v4(encoded, bad);
      break;
    case urls::host_type::ipv6: {
      const auto address = ip::make_address_v6(encoded.substr(1, encoded.size() - 2), bad);
      out.host = address.to_string();
      out.address = address;
      break;
    }
    default:
      return refuse("must name a host");
  }
  if (bad) return refuse("has a host that is no address");
  return {};
}

}  // namespace

std::string CallbackUrl::origin() const {
  std::string out = tls ? "https://" : "http://";
  out += address && address->is_v6() ? "[" + host + "]" : host;
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

Result<CallbackUrl> parse_callback_url(std::string_view text) {
  if (text.size() > kMaxCallbackUrlBytes) return refuse("must not be longer than 2048 characters");
  const auto parsed = urls::parse_absolute_uri(urls::string_view(text.data(), text.size()));
  if (parsed.has_error()) return refuse("must be an absolute URL without a fragment, such as https://example.com/done");
  const auto& url = *parsed;
  CallbackUrl out;
  const auto scheme = url.scheme_id();
  if (scheme != urls::scheme::https && scheme != urls::scheme::http) return refuse("must begin with https://");
  out.tls = scheme == urls::scheme::https;
  if (!url.has_authority()) return refuse("must name a host");
  const auto authority = url.encoded_authority();
  if (authority_in(text) != std::string_view(authority.data(), authority.size())) return refuse("must name a host");
  if (url.has_userinfo()) return refuse("must not hold a user or password");
  TRY(read_host(url, out));
  out.port = out.tls ? 443 : 80;
  if (url.has_port()) {
    const auto digits = url.port();
    const auto* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, out.port);
    if (digits.empty() || error != std::errc() || stop != end || out.port == 0) {
      return refuse("must have a port from 1 to 65535, or none");
    }
  }
  const auto path = url.encoded_path();
  out.text = out.origin();
  out.text += path.empty() ? std::string_view("/") : std::string_view(path.data(), path.size());
  if (url.has_query()) {
    out.text += '?';
    out.text.append(url.encoded_query().data(), url.encoded_query().size());
  }
  return out;
}

}  // namespace tidemark::jobs
