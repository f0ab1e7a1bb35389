#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <charconv>
#include <limits>
#include <sstream>

#include "common/base/encoding.h"
#include "common/base/protocol_text.h"
#include "common/base/text.h"
#include "common/service/store_process.h"

namespace tidemark::service {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  boost::split(parts, text, [separator](char c) { return c == separator; });
  return parts;
}

/// Reads an amount such as "10", "64KiB" or "10GiB".
std::optional<std::uint64_t> parse_amount(std::string_view text) {
  constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, text.substr(static_cast<std::size_t>(end - text.data())));
  if (unit == std::end(kUnits)) return std::nullopt;
  const auto shift = 10 * (unit - std::begin(kUnits));
  if (number > (std::numeric_limits<std::uint64_t>::max() >> (shift + 1))) return std::nullopt;
  return number << shift;
}

struct BoundName {
  std::string_view name;
  auth::Service service;
  std::optional<std::uint64_t> auth::Bounds::* bound;
};
constexpr BoundName kBounds[] = {
    {"containers", auth::Service::kBlob, &auth::Bounds::units},
    {"blob_bytes", auth::Service::kBlob, &auth::Bounds::bytes},
    {"queues", auth::Service::kQueue, &auth::Bounds::units},
    {"queue_bytes", auth::Service::kQueue, &auth::Bounds::bytes},
    {"tables", auth::Service::kTable, &auth::Bounds::units},
    {"table_bytes", auth::Service::kTable, &auth::Bounds::bytes},
};

/// Reads a bound of an account, such as "tables=100".
Result<void> read_bound(const std::string& text, auth::Account& account) {
  const auto equals = std::min(text.find('='), text.size());
  const auto known = std::ranges::find(kBounds, std::string_view(text).substr(0, equals), &BoundName::name);
  const auto amount = parse_amount(std::string_view(text).substr(std::min(equals + 1, text.size())));
  if (known == std::end(kBounds) || !amount) {
    return fail(ErrorCode::kConfigInvalid,
                "accounts: what follows the keys of account " + account.name +
                    " must be tables=, queues= or containers= and a number, or table_bytes=, queue_bytes= or "
                    "blob_bytes= and a number with KiB, MiB, GiB, TiB or nothing");
  }
  account.bounds.at(static_cast<std::size_t>(known->service)).*(known->bound) = amount;
  return {};
}

}  // namespace

Result<std::vector<auth::Account>> parse_accounts(const std::string& text) {
  std::vector<auth::Account> accounts;
  if (text.empty()) {
    accounts.push_back(auth::development_account());
    return accounts;
  }
  for (const auto& item : split(text, ',')) {
    std::istringstream words(item);
    std::string keys, bound;
    words >> keys;
    const auto parts = split(keys, ':');
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
    while (words >> bound) TRY(read_bound(bound, account));
    if (std::ranges::count(accounts, account.name, &auth::Account::name) > 0) {
      return fail(ErrorCode::kConfigInvalid, "accounts: account " + account.name +
                                                 " is there twice; a second key follows the first: name:key:key2");
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
