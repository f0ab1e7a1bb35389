#include "common/auth/roles.h"

#include <algorithm>
#include <cctype>

namespace tidemark::auth {
namespace {

struct Row {
  Service service;
  Roles role;
  std::string_view name;  // lower case, letters only
  std::string_view on_service, on_containers, on_objects;
};

constexpr Row kRows[] = {
    {Service::kBlob, kReader, "storageblobdatareader", "lk", "rl", "r"},
    {Service::kBlob, kContributor, "storageblobdatacontributor", "lk", "rlcwd", "racwd"},
    {Service::kBlob, kOwner, "storageblobdataowner", "lfk", "rlcwdf", "racwdxytmeopi"},
    {Service::kBlob, kDelegator, "storageblobdelegator", "k", "", ""},
    {Service::kQueue, kReader, "storagequeuedatareader", "lk", "r", "r"},
    {Service::kQueue, kContributor, "storagequeuedatacontributor", "lk", "rcwd", "raupd"},
    {Service::kQueue, kMessageProcessor, "storagequeuedatamessageprocessor", "k", "", "rp"},
    {Service::kQueue, kMessageSender, "storagequeuedatamessagesender", "k", "", "a"},
    {Service::kQueue, kDelegator, "storagequeuedelegator", "k", "", ""},
    {Service::kTable, kReader, "storagetabledatareader", "k", "l", "r"},
    {Service::kTable, kContributor, "storagetabledatacontributor", "k", "lcwd", "raud"},
    {Service::kTable, kDelegator, "storagetabledelegator", "k", "", ""},
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) continue;
    out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return out;
}

std::string_view letters(const Row& row, ResourceType type) {
  switch (type) {
    case ResourceType::kService:
      return row.on_service;
    case ResourceType::kContainer:
      return row.on_containers;
    case ResourceType::kObject:
      return row.on_objects;
  }
  return {};
}

}  // namespace

Roles roles_of(Service service, const std::vector<std::string>& names) {
  Roles roles = 0;
  for (const auto& name : names) {
    const auto wanted = plain(name);
    for (const auto& row : kRows) {
      if (row.service == service && row.name == wanted) roles = static_cast<Roles>(roles | row.role);
    }
  }
  return roles;
}

bool roles_allow(Service service, Roles roles, ResourceType type, char letter) {
  return std::ranges::any_of(kRows, [&](const Row& row) {
    return row.service == service && (roles & row.role) != 0 && letters(row, type).contains(letter);
  });
}

Roles strongest(Roles roles) {
  for (const auto strong : {kOwner, kContributor}) {
    if ((roles & strong) != 0) return strong;
  }
  return static_cast<Roles>(roles & ~kDelegator);
}

}  // namespace tidemark::auth
