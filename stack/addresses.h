// The addresses of a running stack, and the settings by which shells and SDKs find it. Reads files and the environment.
#pragma once
#include <string>

#include "stack/data_folder.h"

namespace tidemark::stack {

struct Addresses {
  std::string blob, queue, table;  // URLs with the account
  std::string api;
  std::string account;
  std::string key;          // the development account's key, which everybody knows; empty for a key of one's own
  std::string certificate;  // PEM; empty for plain HTTP
  std::string token;        // the file of the api's bearer token; empty if one is configured
  std::string data;
  bool jobs_elsewhere = false;  // the jobs' account is not among the accounts
};

Addresses addresses_of(const DataFolder& folder, const Choices& choices);

/// The URLs, one in a line.
std::string listed(const Addresses& addresses);
/// Commands that set the environment of a shell.
std::string for_bash(const Addresses& addresses);
std::string for_powershell(const Addresses& addresses);
std::string as_json(const Addresses& addresses);

/// Gives the accounts of the variable AZURITE_ACCOUNTS, if it is set, to the programs that this process starts:
/// "one:KEY[:KEY];another:KEY". Accounts of TIDEMARK_ACCOUNTS and TIDEMARK_ACCOUNTS_FILE take precedence.
void take_over_azurite_accounts();

}  // namespace tidemark::stack
