// Finds the account that a URL names, in path style (/account/...) or host style (account.blob.example).
#include <algorithm>

#include "common/auth/authenticator.h"
#include "common/base/encoding.h"

namespace tidemark::auth {
namespace {

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']'));  // IPv6
  return host.substr(0, host.find(':'));
}

bool carries_no_account(std::string_view host) {
  if (host.starts_with('[') || host.find('.') == std::string_view::npos) return true;
  if (host.find_first_not_of("0123456789.") == std::string_view::npos) return true;
  return iequals_ascii(host, "host.docker.internal");
}

struct Match {
  std::string account;
  bool secondary;
};

std::optional<Match> find_account(std::string_view name, const std::vector<Account>& accounts) {
  const bool known = std::ranges::find(accounts, name, &Account::name) != accounts.end();
  if (known) return Match{std::string(name), false};
  if (!name.ends_with(kSecondary)) return std::nullopt;
  name.remove_suffix(kSecondary.size());
  const auto account = std::ranges::find(accounts, name, &Account::name);
  return account == accounts.end() ? std::nullopt : std::optional(Match{account->name, true});
}

}  // namespace

Result<Resource> parse_resource(std::string_view host, std::string_view raw_path,
                                const std::vector<Account>& accounts) {
  if (!raw_path.starts_with('/')) return fail(ErrorCode::kInvalidUri);
  const auto path = raw_path.substr(1);
  host = without_port(host);
  if (!carries_no_account(host)) {
    auto match = find_account(to_lower_ascii(host.substr(0, host.find('.'))), accounts);
    if (match) return Resource{std::move(match->account), match->secondary, path};
    // The host name is that of a machine rather than of an account, as in a container network.
  }
  const auto slash = std::min(path.find('/'), path.size());
  const auto first = path.substr(0, slash);
  if (first.empty()) {
    return fail(ErrorCode::kInvalidUri, "The URL names no account: write http://host:port/account/...");
  }
  auto match = find_account(first, accounts);
  if (!match) {
    return fail(ErrorCode::kResourceNotFound,
                "The account in the URL does not exist. Write http://host:port/account/...");
  }
  return Resource{std::move(match->account), match->secondary, path.substr(std::min(slash + 1, path.size()))};
}

Account development_account() {
  constexpr std::string_view kKey =
      "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
  return {"devstoreaccount1", {base64_decode(kKey).value_or("")}};
}

}  // namespace tidemark::auth
