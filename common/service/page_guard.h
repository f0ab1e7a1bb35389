// Every web page knows the well-known development key, so a page that a browser on this machine shows could sign
// requests to a store here. Browsers keep pages from reading answers and from most writes, unless a CORS rule of the
// account lets them; but they do not do so if the page's own name is made to lead here (DNS rebinding), nor for the
// requests that a plain form can send. Accounts with keys of their own need no guard. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/http/http.h"
#include "common/protocol/cors.h"

namespace tidemark::service {

class PageGuard {
 public:
  PageGuard() = default;
  /// `allowed_hosts`: "name,name", allowed beside addresses, localhost and names without a dot.
  PageGuard(const std::vector<auth::Account>& accounts, std::string_view allowed_hosts);

  /// kAuthorizationFailure if this name may belong to a web page.
  [[nodiscard]] Result<void> check_host(std::string_view account, std::string_view host) const;
  /// kAuthorizationFailure if the request comes from a page that no rule admits. For requests that change something and
  /// need no preflight.
  [[nodiscard]] Result<void> check_source(std::string_view account, const http::Request& request,
                                          const protocol::CorsPolicies& cors) const;

 private:
  [[nodiscard]] bool guards(std::string_view account) const;
  std::vector<std::string> accounts_;
  std::vector<std::string> hosts_;
};

}  // namespace tidemark::service
