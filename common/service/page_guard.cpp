#include "common/service/page_guard.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/http/host_name.h"

namespace tidemark::service {
namespace {

constexpr std::size_t kShownBytes = 100;

/// Tells whether nobody else can make this name lead here.
bool is_safe(std::string_view name) {
  if (name.find('.') == std::string_view::npos) return true;  // a name of this network, or an IPv6 address
  if (name.find_first_not_of("0123456789.") == std::string_view::npos) return true;
  constexpr std::string_view kLocal = ".localhost";
  const bool local = name.size() > kLocal.size() && iequals_ascii(name.substr(name.size() - kLocal.size()), kLocal);
  return local || iequals_ascii(name, "host.docker.internal") || http::is_address(name);
}

std::string_view after_scheme(std::string_view origin) {
  const auto end = origin.find("://");
  return end == std::string_view::npos ? std::string_view() : origin.substr(end + 3);
}

}  // namespace

PageGuard::PageGuard(const std::vector<auth::Account>& accounts, std::string_view allowed_hosts) {
  const auto well_known = auth::development_account().keys[0];
  for (const auto& account : accounts) {
    if (std::ranges::find(account.keys, well_known) != account.keys.end()) accounts_.push_back(account.name);
  }
  while (!allowed_hosts.empty()) {
    const auto name = trimmed(take_item(allowed_hosts));
    if (!name.empty()) hosts_.emplace_back(name);
  }
}

bool PageGuard::guards(std::string_view account) const {
  return std::ranges::find(accounts_, account) != accounts_.end();
}

Result<void> PageGuard::check_host(std::string_view account, std::string_view host) const {
  if (!guards(account)) return {};
  const auto name = http::host_name(host);
  const auto is_name = [&](const std::string& allowed) { return iequals_ascii(allowed, name); };
  if (is_safe(name) || std::ranges::any_of(hosts_, is_name)) return {};
  return fail(ErrorCode::kAuthorizationFailure,
              "The Host \"" + std::string(beginning_of(name, kShownBytes)) +
                  "\" could be a web page's, which knows the well-known development key too. Add it to the setting "
                  "allowed_hosts (TIDEMARK_ALLOWED_HOSTS), or use an account with a key of your own.");
}

Result<void> PageGuard::check_source(std::string_view account, const http::Request& request,
                                     const protocol::CorsPolicies& cors) const {
  if (!guards(account)) return {};
  const auto origin = request.header("origin");
  const auto site = request.header("sec-fetch-site").value_or("none");
  const auto same = [&] { return iequals_ascii(after_scheme(*origin), request.header("host").value_or("")); };
  const bool own = origin ? same() : site == "none" || site == "same-origin";
  if (own || cors.admits(account, request)) return {};
  return fail(
      ErrorCode::kAuthorizationFailure,
      "A web page sent this, and pages know the well-known development key too. Admit its origin with a CORS rule "
      "of the account, or use an account with a key of your own.");
}

}  // namespace tidemark::service
