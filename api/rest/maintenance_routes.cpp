// Backups and checks of the stores' data. The directory of a backup is on the machine where the stores run.
#include <filesystem>

#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "common/base/json.h"
#include "common/rpc/call.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr Duration kSoon = std::chrono::seconds(10);
constexpr std::uint64_t kMaxKept = 100'000;

Result<std::string> absolute(std::string directory) {
  if (std::filesystem::path(directory).is_absolute() && directory.find('\0') == std::string::npos) return directory;
  return fail(ErrorCode::kInvalidInput, "directory must be an absolute path on the machine of the stores.");
}

Result<BackupRequest> read_request(const std::string& body) {
  const auto parsed = json_or_discarded(body);
  if (!parsed.is_object()) return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  BackupRequest request;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "directory" && value.is_string()) {
      request.directory = value.get<std::string>();
    } else if (name == "keep" && value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
               value.get<std::uint64_t>() <= kMaxKept) {
      request.keep = value.get<std::size_t>();
    } else {
      return fail(ErrorCode::kInvalidInput, "A backup has directory, an absolute path, and keep (1 to 100000).");
    }
  }
  request.directory = TRY(absolute(std::move(request.directory)));
  return request;
}

std::string_view state_name(BackupStatus::State state) {
  switch (state) {
    case BackupStatus::State::kRunning:
      return "running";
    case BackupStatus::State::kDone:
      return "done";
    case BackupStatus::State::kFailed:
      return "failed";
  }
  return "";
}

json backup_json(const BackupStatus& status) {
  json out{{"name", status.name},   {"directory", status.directory}, {"state", state_name(status.state)},
           {"files", status.files}, {"newBytes", status.new_bytes},  {"removed", status.removed}};
  if (!status.trouble.empty()) out["trouble"] = status.trouble;
  if (status.state == BackupStatus::State::kDone) out["manifest"] = backup::to_json(status.manifest);
  return out;
}

json backup_json(const backup::StoredBackup& stored) {
  if (!stored.trouble.empty()) return {{"name", stored.name}, {"trouble", stored.trouble}};
  return {{"name", stored.name}, {"manifest", backup::to_json(stored.manifest)}};
}

json backup_json(const std::string& store, const service::CheckState& state) {
  auto findings = json::array();
  for (const auto& finding : state.findings) {
    findings.push_back({{"kind", finding.kind}, {"where", finding.where}, {"what", finding.what}});
  }
  json out{{"store", store},       {"round", state.round},           {"running", state.running},
           {"rows", state.rows},   {"files", state.files},           {"bytes", state.bytes},
           {"found", state.found}, {"findings", std::move(findings)}};
  if (!state.trouble.empty()) out["trouble"] = state.trouble;
  return out;
}

Answer begin_backup(Api& api, http::Request& request, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto wanted = CO_TRY(read_request(body));
  const auto begun = CO_TRY(co_await api.backups->begin(std::move(wanted), co_await asio::this_coro::executor));
  auto answer = json_response(202, backup_json(begun));
  answer.set("Location", "/v1/backups/" + begun.name);
  co_return answer;
}

Answer show_backup(Api& api, http::Request&, std::string name) {
  const auto status = api.backups->status(name);
  if (!status) co_return fail(ErrorCode::kNotFound, "This api has made no such backup lately: list the directory.");
  co_return json_response(200, backup_json(*status));
}

Answer list_backups(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto directory = CO_TRY(absolute(parameters.text("directory")));
  const auto found = CO_TRY(co_await api.backups->list(std::move(directory)));
  co_return json_response(200, {{"backups", list_json(found, [](const auto& one) { return backup_json(one); })}});
}

Answer begin_check(Api& api, http::Request&, std::string) {
  auto stores = json::array();
  for (const auto& store : api.backups->stores()) {
    const auto round = CO_TRY(co_await rpc::call(*store.link, service::calls::BeginCheck{}, kSoon));
    stores.push_back({{"store", store.name}, {"round", round}});
  }
  co_return json_response(202, {{"stores", std::move(stores)}});
}

Answer show_check(Api& api, http::Request&, std::string) {
  auto stores = json::array();
  for (const auto& store : api.backups->stores()) {
    const auto state = CO_TRY(co_await rpc::call(*store.link, service::calls::ReadCheckState{}, kSoon));
    stores.push_back(backup_json(store.name, state));
  }
  co_return json_response(200, {{"stores", std::move(stores)}});
}

}  // namespace

std::span<const Route> maintenance_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/backups", Role::kAdmin, list_backups},  // lists any directory of the stores' machine
      {"POST", "v1/backups", Role::kAdmin, begin_backup}, {"GET", "v1/backups/*", Role::kViewer, show_backup},
      {"GET", "v1/fsck", Role::kViewer, show_check},      {"POST", "v1/fsck", Role::kOperator, begin_check},
  };
  return kRoutes;
}

}  // namespace tidemark::api
