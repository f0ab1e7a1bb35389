// How much room there is on the disk of a store's data: for its metrics, and for the api, which tells operators before
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

/// From here on, operators are warned. monitoring/alerts.yaml has the same figure.
inline constexpr std::uint64_t kLowPercent = 10;

struct DiskRoom {
  std::uint64_t free_bytes = 0;  // that the store may use
  std::uint64_t total_bytes = 0;
  std::uint64_t needed_bytes = 0;  // with less than this, writes are refused
  std::uint64_t device = 0;        // tells file systems of a machine apart

  [[nodiscard]] bool is_low() const { return is_full() || free_bytes / kLowPercent < total_bytes / 100; }
  [[nodiscard]] bool is_full() const { return free_bytes < needed_bytes; }
};

struct ReadDiskRoom {
  static constexpr std::string_view kMethod = "disk.room";
  using Reply = std::optional<DiskRoom>;
  std::string account;
};

/// Of the file systems that the directories are on, the one with the least room; nothing if it cannot be told.
std::optional<DiskRoom> room_of(std::span<const std::filesystem::path> directories, std::uint64_t needed_bytes);

class DiskMeter {
 public:
  DiskMeter(std::vector<std::filesystem::path> directories, std::uint64_t needed_bytes, process::Metrics& metrics);

  [[nodiscard]] std::optional<DiskRoom> read() const { return room_of(directories_, needed_bytes_); }
  /// The store's own calls, and ReadDiskRoom. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  const std::vector<std::filesystem::path> directories_;
  const std::uint64_t needed_bytes_;
  std::shared_ptr<process::Figures> figures_;
};

}  // namespace tidemark::service
