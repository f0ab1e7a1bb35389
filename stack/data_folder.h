// A data directory as a record of the processes of its stack: which run (DATA/run/NAME.pid), what they said when they
// were ready (DATA/log/NAME.out), their logs (DATA/log/NAME.log), and the choices of the last start (DATA/run/stack).
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::stack {

inline constexpr std::array<std::string_view, 3> kStores{"blob_store", "queue_service", "table_store"};
inline constexpr std::string_view kApi = "api";
inline constexpr std::string_view kSupervisor = "supervisor";
/// The processes that listen on ports, in the order of the ports: blob N, queue N+1, table N+2, api N+3.
inline constexpr std::array<std::string_view, 4> kListening{kStores[0], kStores[1], kStores[2], kApi};

/// Apply again at the next start, unless it makes others.
struct Choices {
  std::optional<std::uint16_t> port_base;  // without it, the ports are those of the configuration, or 10000 and so on
  std::string certificate, key;            // PEM files; empty: plain HTTP
  std::string config;                      // the file of TIDEMARK_CONFIG
};

/// The line with which a program says that it is ready.
struct Ready {
  std::string port;
  std::string scheme = "http";
  std::string line;  // all that comes after the name
};

class DataFolder {
 public:
  /// kConfigInvalid if this user must not look into it. The directory need not exist.
  static Result<DataFolder> open(const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Tells whether it belongs to the user of this process.
  [[nodiscard]] bool is_mine() const;
  [[nodiscard]] std::filesystem::path pid_file(std::string_view name) const;
  [[nodiscard]] std::filesystem::path log(std::string_view name) const;
  [[nodiscard]] std::filesystem::path output(std::string_view name) const;
  [[nodiscard]] std::filesystem::path token() const { return path_ / "run/token"; }

  /// Returns the process id if the process lives. A number that now belongs to another process does not count: the
  /// process keeps its file locked.
  [[nodiscard]] std::optional<pid_t> running(std::string_view name) const;
  /// Returns the names of all pid files, but for the supervisor's, in their order.
  [[nodiscard]] std::vector<std::string> noted() const;
  [[nodiscard]] std::optional<Ready> ready(std::string_view name) const;
  /// Returns the last lines of a log, from this offset on, that are not of level info.
  [[nodiscard]] std::vector<std::string> end_of_log(std::string_view name, std::uintmax_t from = 0) const;

  [[nodiscard]] Choices choices() const;
  Result<void> remember(const Choices& choices) const;
  /// Makes the directories of logs and pid files.
  Result<void> prepare() const;
  /// Removes the pid files of processes that are gone.
  void forget_processes() const;

 private:
  explicit DataFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace tidemark::stack
