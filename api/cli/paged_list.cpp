#include "api/cli/paged_list.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "api/cli/numbers.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// Says why the list ends early.
std::string rest_of(const json& all, std::size_t found, const Extent& wanted) {
  const auto continuation = all.value("continuation", "");
  if (found >= wanted.most) return more_than_shown(found, continuation);
  return "(" + std::to_string(found) + " found among " + std::to_string(all.value("searched", std::uint64_t{0})) +
         "; there are more: --all searches all, and --continuation " + continuation + " goes on here)";
}

}  // namespace

std::string more_than_shown(std::size_t shown, const std::string& continuation) {
  return "(" + std::to_string(shown) + " shown; there are more: --all shows all" +
         (continuation.empty() ? "" : ", and --continuation " + continuation + " goes on here") + ")";
}

void Extent::declare(CLI::App& command) {
  command.add_option("--limit", most, "how many; 0 for all")->check(whole_number())->capture_default_str();
  command.add_flag_callback("--all", [this] { most = 0; }, "all, however many there are")->excludes("--limit");
  command.add_option("--continuation", continuation, "go on where an earlier answer ended, which said this");
}

Result<int> list_and_print(const GlobalOptions& options, const std::string& path, const char* member,
                           const Extent& wanted, const Print& print) {
  auto api = TRY(ApiClient::create(options));
  json all{{member, json::array()}};
  auto& items = all[member];
  auto continuation = wanted.continuation;
  std::uint64_t searched = 0;
  bool enough = false;
  do {
    const auto limit = wanted.most == 0 ? kPage : std::min(kPage, wanted.most - items.size());
    auto target = path + (path.find('?') == std::string::npos ? "?" : "&") + "limit=" + std::to_string(limit);
    if (!continuation.empty()) target += "&continuation=" + percent_encode(continuation);
    auto page = TRY(api.call("GET", target));
    for (auto& item : page[member]) items.push_back(std::move(item));
    continuation = page.value("continuation", "");
    if (page.contains("searched")) all["searched"] = searched += page["searched"].get<std::uint64_t>();
    enough = wanted.most != 0 && (items.size() >= wanted.most || searched >= kSearchedAtMost);
  } while (!continuation.empty() && !enough);
  if (!continuation.empty()) all["continuation"] = continuation;
  const auto found = items.size();
  const bool more = !continuation.empty();
  // The text for an empty list is printed only if the whole list was read.
  if (found > 0 || !more || options.json) print_answer(options, all, member_of(member, print));
  if (more && !options.json) std::cerr << rest_of(all, found, wanted) << "\n";
  return kOk;
}

}  // namespace tidemark::cli
