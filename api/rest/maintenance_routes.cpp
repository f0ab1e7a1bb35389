// Backups and checks of the stores' data. The directory of a backup is on the machine where the stores run.
#include <filesystem>

#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "common/rpc/call.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr Duration kSoon = std::chrono::seconds(10);
constexpr std::uint64_t kMaxKept = 100'000;

Result<std::string> absolute(std::string directory) {
  if (std::filesystem::path(directory).is_absolute() && directory.find('\0') == std::string::npos) return directory;
  return fail(ErrorCode::kInvalidInput, "directory must be an absolute path on the machine of the stores.");
}

struct BackupSpec {
  BackupRequest request;
  static constexpr const char* kSchema = "BackupSpec";
  void members(jobs::SpecMembers& in) {
    in.text("directory", request.directory, true,
            {.meaning = "an absolute path on the stores' machine, which the api sees as well"});
    std::optional<std::size_t> keep;
    in.number("keep", keep, 1, kMaxKept,
              {.meaning = "how many backups of this stack stay there, the newest; all if absent"});
    request.keep = keep.value_or(0);
  }
};

constexpr jobs::Names<BackupStatus::State, 3> kBackupStates{{{BackupStatus::State::kRunning, "running"},
                                                             {BackupStatus::State::kDone, "done"},
                                                             {BackupStatus::State::kFailed, "failed"}}};

struct ShownBackupPart {
  backup::Part part;
  void members(jobs::SpecMembers& to) const {
    to.shows("name", part.name);
    to.shows("format", part.format);
    to.shows("listSha256", part.list_sha256);
    to.shows("files", part.files);
    to.shows("bytes", part.bytes);
    to.shows("newFiles", part.new_files);
    to.shows("newBytes", part.new_bytes);
    to.shows("heldMicroseconds", part.held_us, {.meaning = "how long writes waited"});
  }
};

struct ShownManifest {
  backup::Manifest manifest;
  static constexpr const char* kSchema = "BackupManifest";
  void members(jobs::SpecMembers& to) const {
    to.shows("format", backup::kBackupFormat);
    to.shows("program", manifest.program, {.meaning = "the version that made the backup"});
    to.shows("owner", manifest.owner);
    to.shows("made", manifest.made);
    to.shows("parts", shown_all<ShownBackupPart>(manifest.parts));
  }
};

struct ShownStatus {
  BackupStatus status;
  static constexpr const char* kSchema = "Backup";
  void members(jobs::SpecMembers& to) const {
    const bool done = status.state == BackupStatus::State::kDone;
    to.shows("name", status.name);
    to.shows("directory", status.directory);
    to.shows("state", kBackupStates, status.state);
    to.shows("files", status.files);
    to.shows("newBytes", status.new_bytes);
    to.shows("removed", status.removed, {.meaning = "older backups"});
    to.shows_unless_empty("trouble", status.trouble);
    to.shows("manifest", done ? std::optional(ShownManifest{status.manifest}) : std::nullopt);
  }
};

struct ShownStored {
  backup::StoredBackup stored;
  static constexpr const char* kSchema = "StoredBackup";
  void members(jobs::SpecMembers& to) const {
    const bool readable = stored.trouble.empty();
    to.shows("name", stored.name);
    to.shows_unless_empty("trouble", stored.trouble, {.meaning = "why it cannot be read"});
    to.shows("manifest", readable ? std::optional(ShownManifest{stored.manifest}) : std::nullopt);
  }
};

struct ShownFinding {
  service::FoundThing finding;
  void members(jobs::SpecMembers& to) const {
    to.shows("kind", finding.kind);
    to.shows("where", finding.where);
    to.shows("what", finding.what);
  }
};

struct ShownCheck {
  std::string store;
  service::CheckState state;
  static constexpr const char* kSchema = "Check";
  void members(jobs::SpecMembers& to) const {
    to.shows("store", store);
    to.shows("round", state.round);
    to.shows("running", state.running);
    to.shows("rows", state.rows);
    to.shows("files", state.files);
    to.shows("bytes", state.bytes);
    to.shows("found", state.found);
    to.shows_unless_empty("trouble", state.trouble, {.meaning = "why it ended early"});
    to.shows("findings", shown_all<ShownFinding>(state.findings), {.meaning = "the first 1000"});
  }
};

struct ShownRound {
  std::string store;
  std::uint64_t round = 0;
  static constexpr const char* kSchema = "CheckRound";
  void members(jobs::SpecMembers& to) const {
    to.shows("store", store);
    to.shows("round", round);
  }
};

Answer begin_backup(Api& api, http::Request& request, std::string) {
  auto wanted = CO_TRY(co_await read_members<BackupSpec>(request)).request;
  wanted.directory = CO_TRY(absolute(std::move(wanted.directory)));
  const auto begun = CO_TRY(co_await api.backups->begin(std::move(wanted), co_await asio::this_coro::executor));
  auto answer = json_response(202, json_of(ShownStatus{begun}));
  answer.set("Location", "/v1/backups/" + begun.name);
  co_return answer;
}

Answer show_backup(Api& api, http::Request&, std::string name) {
  const auto status = api.backups->status(name);
  if (!status) co_return fail(ErrorCode::kNotFound, "This api has made no such backup lately: list the directory.");
  co_return json_response(200, json_of(ShownStatus{*status}));
}

Answer list_backups(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto directory = CO_TRY(absolute(parameters.text("directory")));
  const auto found = CO_TRY(co_await api.backups->list(std::move(directory)));
  co_return json_response(200,
                          {{"backups", list_json(found, [](const auto& one) { return json_of(ShownStored{one}); })}});
}

Answer begin_check(Api& api, http::Request&, std::string) {
  auto stores = json::array();
  for (const auto& store : api.backups->stores()) {
    const auto round = CO_TRY(co_await rpc::call(*store.link, service::calls::BeginCheck{}, kSoon));
    stores.push_back(json_of(ShownRound{store.name, round}));
  }
  co_return json_response(202, {{"stores", std::move(stores)}});
}

Answer show_check(Api& api, http::Request&, std::string) {
  auto stores = json::array();
  for (const auto& store : api.backups->stores()) {
    const auto state = CO_TRY(co_await rpc::call(*store.link, service::calls::ReadCheckState{}, kSoon));
    stores.push_back(json_of(ShownCheck{store.name, state}));
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

nlohmann::ordered_json maintenance_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<BackupSpec>(out);
  jobs::add_answers<ShownManifest, ShownStatus, ShownStored, ShownCheck, ShownRound>(out);
  return out;
}

}  // namespace tidemark::api
