#include <algorithm>
#include <boost/algorithm/string/split.hpp>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/service/store_process.h"

namespace tidemark::service {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  boost::split(parts, text, [separator](char c) { return c == separator; });
  return parts;
}

bool is_account_name(const std::string& name) {
  return name.size() >= 3 && name.size() <= 24 &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<std::vector<auth::Account>> parse_accounts(const std::string& text) {
  std::vector<auth::Account> accounts;
  if (text.empty()) {
    accounts.push_back(auth::development_account());
    return accounts;
  }
  for (const auto& item : split(text, ',')) {
    const auto parts = split(item, ':');
    auth::Account account{parts[0], {}};
    if (!is_account_name(account.name)) {
      return fail(
          ErrorCode::kConfigInvalid,
          "accounts: each entry is name:base64key[:base64key2]; a name is 3 to 24 lower-case letters and digits");
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
      auto key = base64_decode(parts[i]);
      if (!key || key->size() < 16) {
        return fail(ErrorCode::kConfigInvalid,
                    "accounts: a key of account " + account.name + " is not base64 of at least 16 bytes");
      }
      account.keys.push_back(std::move(*key));
    }
    if (account.keys.empty() || account.keys.size() > 2) {
      return fail(ErrorCode::kConfigInvalid, "accounts: account " + account.name + " needs one or two keys");
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

Result<std::vector<auth::Account>> parse_accounts_file(const std::string& text) {
  std::string list;
  for (const auto& line : split(text, '\n')) {
    const auto entry = trimmed(line);
    if (!entry.empty() && entry.front() != '#') list += (list.empty() ? "" : ",") + std::string(entry);
  }
  if (list.empty()) return fail(ErrorCode::kConfigInvalid, "accounts_file: the file names no account");
  return parse_accounts(list);
}

std::string internal_endpoint(const std::string& data, const std::string& folder) {
  return "ipc://" + data + "/run/" + folder + ".sock";
}

}  // namespace tidemark::service
