// The free space on the disk of a store's data, for the store's metrics and for the api, which warns operators before
// the disk is full. Thread safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/process/metrics.h"
#include "common/rpc/transport.h"

namespace tidemark::service {

/// Operators are warned below this share of free space. monitoring/alerts.yaml has the same figure.
inline constexpr std::uint64_t kLowPercent = 10;

struct DiskRoom {
  std::uint64_t free_bytes = 0;  // that the store may use
  std::uint64_t total_bytes = 0;
  std::uint64_t needed_bytes = 0;  // writes are refused while less than this is free
  std::uint64_t device = 0;        // identifies a file system of the machine

  [[nodiscard]] bool is_low() const { return is_full() || free_bytes / kLowPercent < total_bytes / 100; }
  [[nodiscard]] bool is_full() const { return free_bytes < needed_bytes; }
};

struct ReadDiskRoom {
  static constexpr std::string_view kMethod = "disk.room";
  using Reply = std::optional<DiskRoom>;
  std::string account;
};

/// Returns the room of the file system with the least room among those of the directories; nothing if it is unknown.
std::optional<DiskRoom> room_of(std::span<const std::filesystem::path> directories, std::uint64_t needed_bytes);

class DiskMeter {
 public:
  DiskMeter(std::vector<std::filesystem::path> directories, std::uint64_t needed_bytes, process::Metrics& metrics);

  [[nodiscard]] std::optional<DiskRoom> read() const { return room_of(directories_, needed_bytes_); }
  /// Answers ReadDiskRoom, and passes all other calls to `store`. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  const std::vector<std::filesystem::path> directories_;
  const std::uint64_t needed_bytes_;
  std::shared_ptr<process::Figures> figures_;
};

}  // namespace tidemark::service
