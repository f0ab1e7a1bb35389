// Backups, restores and checks. Restores, and checks of a stopped stack, run here, without the api.
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "api/cli/commands.h"
#include "api/cli/run_program.h"
#include "common/backup/manifest.h"
#include "common/backup/restore.h"
#include "common/base/json.h"
#include "common/base/nearest_word.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A store's program, and the folder of its database in the data directory.
struct Store {
  const char* program;
  const char* folder;
};
constexpr Store kStores[] = {{"table_store", "table"}, {"queue_service", "queue"}, {"blob_store", "blob"}};

CLI::Validator not_empty() {
  return {[](const std::string& given) { return std::string(given.empty() ? "it names no directory" : ""); }, ""};
}

std::uint64_t sum_of(const json& manifest, const char* member) {
  std::uint64_t sum = 0;
  for (const auto& part : manifest.at("parts")) sum += part.at(member).get<std::uint64_t>();
  return sum;
}

void print_manifest(const std::string& path, const json& manifest) {
  std::uint64_t longest = 0;
  for (const auto& part : manifest.at("parts")) {
    longest = std::max(longest, part.at("heldMicroseconds").get<std::uint64_t>());
  }
  std::cout << path << "\n"
            << counted(sum_of(manifest, "files"), "file") << ", " << readable_bytes(sum_of(manifest, "bytes"))
            << ", of which " << readable_bytes(sum_of(manifest, "newBytes")) << " are new; writes waited for "
            << longest / 1000 << " ms\n";
}

Result<int> make_backup(const GlobalOptions& options, const std::string& directory, std::size_t keep) {
  auto api = TRY(ApiClient::create(options));
  json body{{"directory", fs::absolute(directory).lexically_normal().string()}};
  if (keep > 0) body["keep"] = keep;
  auto status = TRY(api.call("POST", "/v1/backups", body.dump()));
  const auto path = item_path("backups", status.value("name", ""));
  while (status.value("state", "") == "running") {
    std::this_thread::sleep_for(kLookEvery);
    status = TRY(api.call("GET", path));
  }
  if (status.value("state", "") == "failed") return fail(ErrorCode::kStorageFailure, text_of(status.at("trouble")));
  print_answer(options, status, [](const json& done) {
    print_manifest((fs::path(text_of(done.at("directory"))) / text_of(done.at("name"))).string(), done.at("manifest"));
    if (done.at("removed") != 0) std::cout << done.at("removed") << " older removed\n";
  });
  return kOk;
}

std::string backup_size(const json& manifest) {
  return manifest.is_null() ? "" : readable_bytes(sum_of(manifest, "bytes"));
}
std::string new_bytes_of(const json& manifest) {
  return manifest.is_null() ? "" : readable_bytes(sum_of(manifest, "newBytes"));
}

Result<int> list_backups(const GlobalOptions& options, const std::string& directory) {
  const auto absolute = fs::absolute(directory).lexically_normal().string();
  return call_and_print(options, "GET", "/v1/backups" + query_of({{"directory", absolute}}),
                        member_of("backups", table_of({{"backup", "/name"},
                                                       {"made", "/manifest/made", time_of},
                                                       {">size", "/manifest", backup_size},
                                                       {">new", "/manifest", new_bytes_of},
                                                       {"trouble", "/trouble"}})));
}

Result<int> restore(const GlobalOptions& options, const std::string& backup) {
  if (options.data.empty()) {
    return fail(ErrorCode::kConfigInvalid, "--data (TIDEMARK_DATA) is empty: it names the directory to restore into");
  }
  const auto manifest = TRY(backup::restore(fs::absolute(backup), fs::absolute(options.data)));
  print_answer(options, backup::to_json(manifest), [&](const json& restored) {
    std::cout << "restored " << readable_bytes(sum_of(restored, "bytes")) << " of " << time_of(restored.at("made"))
              << " into " << options.data << "\n";
  });
  return kOk;
}

/// "STORE KIND WHERE: WHAT", or the finding as JSON.
void print_finding(const GlobalOptions& options, const std::string& store, json finding) {
  if (options.json) {
    finding["store"] = store;
    std::cout << finding.dump() << "\n";
  } else {
    std::cout << store << " " << text_of(finding.at("kind")) << " " << text_of(finding.at("where")) << ": "
              << text_of(finding.at("what")) << "\n";
  }
}

int report_total(const GlobalOptions& options, std::uint64_t found, std::uint64_t rows, std::uint64_t files) {
  if (options.json) {
    std::cout << json{{"found", found}, {"rows", rows}, {"files", files}}.dump() << "\n";
  } else if (found == 0) {
    std::string read = rows > 0 ? counted(rows, "row") : "";
    if (files > 0) read += (read.empty() ? "" : " and ") + counted(files, "file");
    std::cout << "nothing is wrong" << (read.empty() ? "" : " in ") << read << "\n";
  } else {
    std::cout << counted(found, "finding") << "\n";
  }
  return found == 0 ? kOk : kFailed;
}

/// Names the backups in a directory that is none itself.
Error with_backups_inside(Error error, const fs::path& directory) {
  std::vector<std::string> inside;
  std::error_code unknown;
  for (const auto& each : fs::directory_iterator(directory, unknown)) {
    if (fs::exists(each.path() / "manifest.json", unknown)) inside.push_back(each.path().string());
  }
  if (inside.empty()) return error;
  std::ranges::sort(inside, std::greater());  // their names are times
  error.message += " It has " + counted(inside.size(), "backup") + " in it: verify " + inside.front();
  if (inside.size() > 1) error.message += ", the newest, or another one of `tidemark backup list`";
  error.message += ".";
  return error;
}

Result<int> verify_backup(const GlobalOptions& options, const std::string& backup) {
  std::uint64_t found = 0;
  const auto known = backup::read_manifest(fs::absolute(backup));
  if (!known && known.failed_with(ErrorCode::kNotFound)) {
    return fail(with_backups_inside(known.error(), fs::absolute(backup)));
  }
  const auto manifest = TRY(backup::verify(fs::absolute(backup), [&](const std::string& file, const std::string& what) {
    ++found;
    print_finding(options, "backup", {{"kind", "checksum"}, {"where", "file " + file}, {"what", what}});
  }));
  return report_total(options, found, 0, sum_of(backup::to_json(manifest), "files"));
}

/// Finds a store's program beside this one, or else as the shell would.
std::string program_path(const char* name) {
  std::error_code unknown;
  const auto beside = fs::read_symlink("/proc/self/exe", unknown).parent_path() / name;
  return fs::exists(beside, unknown) ? beside.string() : name;
}

bool has_store(const fs::path& data, const Store& store) {
  std::error_code unknown;
  const auto folder = data / store.folder;
  return fs::exists(folder / "tidemark.json", unknown) || fs::exists(folder / "CURRENT", unknown) ||
         fs::exists(folder / "shard-0", unknown);
}

struct Totals {
  std::uint64_t found = 0, rows = 0, files = 0;
};

Result<void> check_store(const GlobalOptions& options, const char* store, Totals& totals) {
  bool complete = false;
  const auto code =
      TRY(run_program({program_path(store), "--data", options.data, "--fsck", "true", "--log-level", "off"},
                      [&](const std::string& line) {
                        const auto parsed = json_or_discarded(line);
                        if (!parsed.is_object()) return;
                        if (parsed.contains("kind")) return print_finding(options, store, parsed);
                        complete = true;
                        totals.found += parsed.at("found").get<std::uint64_t>();
                        totals.rows += parsed.at("rows").get<std::uint64_t>();
                        totals.files += parsed.at("files").get<std::uint64_t>();
                      }));
  if (complete) return {};
  return fail(ErrorCode::kStorageFailure, std::string(store) + " could not check its data (exit code " +
                                              std::to_string(code) + "): is the stack stopped?");
}

/// A store that finds no data would begin anew, so this runs only stores that have data. A stack has data of all of
/// them.
Result<int> check_offline(const GlobalOptions& options) {
  const auto is_there = [&](const Store& store) { return has_store(options.data, store); };
  std::error_code unknown;
  const bool owned = !options.data.empty() && fs::exists(fs::path(options.data) / "owner", unknown);
  if (!owned && (options.data.empty() || std::ranges::none_of(kStores, is_there))) {
    return fail(ErrorCode::kConfigInvalid,
                "\"" + options.data + "\" is no data directory of a stack: --data (TIDEMARK_DATA) names one");
  }
  Totals totals;
  for (const auto& store : kStores) {
    if (is_there(store)) {
      TRY(check_store(options, store.program, totals));
      continue;
    }
    ++totals.found;
    print_finding(options, store.program,
                  {{"kind", "missing"},
                   {"where", "folder " + std::string(store.folder)},
                   {"what", options.data + " has nothing of this store"}});
  }
  return report_total(options, totals.found, totals.rows, totals.files);
}

Result<int> check_online(const GlobalOptions& options) {
  auto api = TRY(ApiClient::create(options));
  const auto begun = TRY(api.call("POST", "/v1/fsck", "{}")).value("stores", json::array());
  auto states = TRY(api.call("GET", "/v1/fsck")).value("stores", json::array());
  std::uint64_t found = 0, rows = 0, files = 0;
  for (std::size_t n = 0; n < begun.size();) {
    const auto state = states.at(n);
    if (state.at("round") < begun[n].at("round") || state.at("running") == true) {
      std::this_thread::sleep_for(kLookEvery);
      states = TRY(api.call("GET", "/v1/fsck")).value("stores", json::array());
      continue;
    }
    if (state.contains("trouble")) return fail(ErrorCode::kStorageFailure, text_of(state.at("trouble")));
    for (const auto& finding : state.at("findings")) print_finding(options, text_of(state.at("store")), finding);
    found += state.at("found").get<std::uint64_t>();
    rows += state.at("rows").get<std::uint64_t>();
    files += state.at("files").get<std::uint64_t>();
    ++n;
  }
  return report_total(options, found, rows, files);
}

/// The arguments of the commands about backups.
struct AskedBackup {
  std::string directory;
  std::size_t keep = 0;
  std::function<Result<int>(const GlobalOptions&, const std::string&)> other;  // another action than making a backup
};

/// Rejects a misspelt command, which would otherwise fill the disk.
std::optional<std::string> why_no_directory(const std::string& given) {
  static const std::vector<std::string> kCommands{"list", "verify"};
  if (given.empty()) return R"("tidemark backup" needs a directory, or a command: list, verify.)";
  std::error_code unknown;
  if (given.contains('/') || fs::exists(given, unknown)) return std::nullopt;
  const auto meant = nearest_word(given, kCommands);
  if (!meant) return std::nullopt;
  return "\"tidemark backup\" has no command \"" + given + "\". Did you mean \"" + *meant +
         "\"? For a directory of this name write ./" + given;
}

Result<int> back_up(const GlobalOptions& options, const AskedBackup& asked) {
  if (asked.other) return asked.other(options, asked.directory);
  if (const auto why = why_no_directory(asked.directory)) return wrong_arguments(options, *why);
  return make_backup(options, asked.directory, asked.keep);
}

void add_backup(const Commands& program) {
  auto asked = std::make_shared<AskedBackup>();
  auto& backup = program.add("backup", "make a backup of the whole stack while it runs",
                             [asked](const GlobalOptions& options) { return back_up(options, *asked); });
  backup.add_option("directory", asked->directory,
                    "directory of backups on the stores' machine; made if it is not there");
  backup.add_option("--keep", asked->keep, "remove all but the newest so many backups of this stack there")
      ->check(CLI::Range(1, 100'000));
  const auto add = [&](const char* name, const char* meaning, const char* argument, const char* argument_meaning,
                       auto action) {
    auto* command = backup.add_subcommand(name, meaning);
    command->add_option(argument, asked->directory, argument_meaning)->required()->check(not_empty());
    command->callback([asked, action] { asked->other = action; });
  };
  add("list", "the backups in a directory", "directory", "directory of backups on the stores' machine", list_backups);
  add("verify", "read a whole backup on this machine, and compare it with its sums", "backup", "the backup's directory",
      verify_backup);
}

}  // namespace

void add_maintenance_commands(const Commands& program) {
  add_backup(program);
  auto from = std::make_shared<std::string>();
  program
      .add("restore", "put a backup into the data directory (--data), which must be empty or absent",
           [from](const GlobalOptions& options) { return restore(options, *from); })
      .add_option("backup", *from, "the backup's directory")
      ->required()
      ->check(not_empty());
  auto offline = std::make_shared<bool>(false);
  program
      .add(
          "fsck", "check everything in the stores: files, checksums, references and counts",
          [offline](const GlobalOptions& options) { return *offline ? check_offline(options) : check_online(options); })
      .add_flag("--offline", *offline, "check the data directory (--data) of a stack that is stopped");
}

}  // namespace tidemark::cli
