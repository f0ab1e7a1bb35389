#include "api/cli/short_ids.h"

#include <algorithm>
#include <set>

#include "api/cli/answers.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kLeastGiven = 4;
constexpr std::size_t kMostGiven = 24;  // a job's id has 25 characters
constexpr int kPages = 10;

bool looks_short(const std::string& given) {
  const auto fits = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; };
  return given.size() >= kLeastGiven && given.size() <= kMostGiven && std::ranges::all_of(given, fits);
}

}  // namespace

Result<std::string> whole_id(ApiClient& api, const std::string& path, const std::string& member,
                             const std::string& given) {
  if (!looks_short(given)) return given;
  std::set<std::string> found;
  std::string continuation;
  for (int pages = 0; pages < kPages; ++pages) {
    auto target = path + (path.find('?') == std::string::npos ? "?" : "&") + "limit=1000";
    if (!continuation.empty()) target += "&continuation=" + percent_encode(continuation);
    const auto page = TRY(api.call("GET", target));
    for (const auto& item : page.value(member, nlohmann::json::array())) {
      if (cell(item, "id").ends_with(given) || cell(item, "jobId").ends_with(given)) found.insert(cell(item, "id"));
    }
    continuation = page.value("continuation", "");
    if (continuation.empty()) break;
  }
  if (found.empty()) return given;
  if (found.size() == 1) return *found.begin();
  return fail(ErrorCode::kInvalidInput, std::to_string(found.size()) + " ids end in " + given + ", such as " +
                                            *found.begin() + " and " + *std::next(found.begin()) + ": give more of it");
}

Result<std::string> whole_job_id(const GlobalOptions& options, const std::string& given) {
  auto api = TRY(ApiClient::create(options));
  return whole_id(api, "/v1/jobs", "jobs", given);
}

}  // namespace tidemark::cli
