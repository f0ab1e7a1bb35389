#include "stack/addresses.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/auth/authenticator.h"
#include "common/base/encoding.h"
#include "common/base/json.h"

namespace tidemark::stack {
namespace {

using nlohmann::ordered_json;
using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kNoKey = "KEY";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Settings of all programs, from the environment or else from the configuration file.
class SharedSettings {
 public:
  explicit SharedSettings(const std::string& config) {
    std::ifstream in(config);
    if (!config.empty()) file_ = json_or_discarded(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    std::string variable = "TIDEMARK_" + name;
    std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
    if (auto value = environment(variable.c_str()); !value.empty()) return value;
    const bool known = file_.is_object() && file_.contains(name) && file_[name].is_string();
    return known ? file_[name].get<std::string>() : "";
  }

 private:
  nlohmann::json file_;
};

/// Returns the name before the first colon of the first line that is no comment.
std::string first_account_in(const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty() && line.front() != '#') return line.substr(0, line.find(':'));
  }
  return "";
}

std::string quoted_for_bash(const std::string& text) {
  constexpr std::string_view kPlain = "_@%+=:,./-";
  const bool plain = std::ranges::all_of(
      text, [&](unsigned char c) { return std::isalnum(c) != 0 || kPlain.contains(static_cast<char>(c)); });
  if (plain && !text.empty()) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string quoted_for_powershell(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string connection_string(const Addresses& addresses) {
  const auto key = addresses.key.empty() ? std::string(kNoKey) : addresses.key;
  return "DefaultEndpointsProtocol=" + addresses.blob.substr(0, addresses.blob.find(':')) +
         ";AccountName=" + addresses.account + ";AccountKey=" + key + ";BlobEndpoint=" + addresses.blob +
         ";QueueEndpoint=" + addresses.queue + ";TableEndpoint=" + addresses.table;
}

Variables variables(const Addresses& addresses) {
  Variables out{{"TIDEMARK_DATA", addresses.data},
                {"TIDEMARK_API", addresses.api},
                {"TIDEMARK_TABLE_URL", addresses.table},
                {"TIDEMARK_QUEUE_URL", addresses.queue}};
  if (!addresses.certificate.empty()) out.emplace_back("TIDEMARK_CA_FILE", addresses.certificate);
  if (addresses.key.empty()) {
    out.emplace_back("TIDEMARK_ACCOUNT", addresses.account);
    out.emplace_back("TIDEMARK_KEY", kNoKey);
  }
  out.emplace_back("AZURE_STORAGE_CONNECTION_STRING", connection_string(addresses));
  return out;
}

}  // namespace

Addresses addresses_of(const DataFolder& folder, const Choices& choices) {
  const SharedSettings settings(choices.config);
  Addresses out;
  out.data = folder.path().string();
  out.certificate = choices.certificate;
  const auto file = settings.get("accounts_file");
  const auto accounts = file.empty() ? settings.get("accounts") : first_account_in(file);
  const auto jobs = settings.get("account");
  out.account = !jobs.empty() ? jobs : accounts.substr(0, accounts.find(':'));
  const auto known = auth::development_account();
  if (out.account.empty()) out.account = known.name;
  const bool development = out.account == known.name;
  if (development && file.empty()) out.key = base64_encode(known.keys.front());
  // The api and the workers have an account setting of their own, whose default is the development account.
  out.jobs_elsewhere = !development && jobs.empty();
  const auto url = [&](std::string_view name) {
    const auto ready = folder.ready(name).value_or(Ready{});
    return ready.scheme + "://127.0.0.1:" + ready.port;
  };
  out.blob = url(kStores[0]) + "/" + out.account;
  out.queue = url(kStores[1]) + "/" + out.account;
  out.table = url(kStores[2]) + "/" + out.account;
  out.api = url(kApi);
  if (std::filesystem::exists(folder.token())) out.token = folder.token().string();
  return out;
}

std::string listed(const Addresses& addresses) {
  auto out = "blob  " + addresses.blob + "\nqueue " + addresses.queue + "\ntable " + addresses.table + "\napi   " +
             addresses.api + "\n";
  if (!addresses.token.empty()) out += "token " + addresses.token + "\n";
  return out;
}

std::string for_bash(const Addresses& addresses) {
  std::string out;
  for (const auto& [name, value] : variables(addresses)) out += "export " + name + "=" + quoted_for_bash(value) + "\n";
  return out;
}

std::string for_powershell(const Addresses& addresses) {
  std::string out;
  for (const auto& [name, value] : variables(addresses)) {
    out += "$env:" + name + " = " + quoted_for_powershell(value) + "\n";
  }
  return out;
}

std::string as_json(const Addresses& addresses) {
  ordered_json out{{"blob", addresses.blob},
                   {"queue", addresses.queue},
                   {"table", addresses.table},
                   {"api", addresses.api},
                   {"account", addresses.account}};
  if (!addresses.token.empty()) out["tokenFile"] = addresses.token;
  for (const auto& [name, value] : variables(addresses)) out["environment"][name] = value;
  return out.dump(2) + "\n";
}

void take_over_azurite_accounts() {
  auto accounts = environment("AZURITE_ACCOUNTS");
  const bool has_others = !environment("TIDEMARK_ACCOUNTS").empty() || !environment("TIDEMARK_ACCOUNTS_FILE").empty();
  if (accounts.empty() || has_others) return;
  std::ranges::replace(accounts, ';', ',');
  while (accounts.ends_with(',')) accounts.pop_back();
  ::setenv("TIDEMARK_ACCOUNTS", accounts.c_str(), 1);
  if (environment("TIDEMARK_ACCOUNT").empty()) {
    ::setenv("TIDEMARK_ACCOUNT", accounts.substr(0, accounts.find(':')).c_str(), 1);
  }
}

}  // namespace tidemark::stack
