#include "common/service/disk_room.h"

#include <sys/stat.h>

#include "common/rpc/call.h"

namespace tidemark::service {
namespace {

using DiskFace = rpc::Face<DiskMeter>;
Result<std::optional<DiskRoom>> read_room(DiskMeter& meter, const ReadDiskRoom&) { return meter.read(); }
constexpr DiskFace::Handler kDiskHandlers[] = {DiskFace::on<ReadDiskRoom, &read_room>()};

std::vector<prometheus::MetricFamily> figures_of(const std::optional<DiskRoom>& room) {
  if (!room) return {};
  const auto gauge = [](const char* name, const char* help, std::uint64_t value) {
    return process::figure(name, help, prometheus::MetricType::Gauge, static_cast<double>(value));
  };
  return {gauge("tidemark_disk_free_bytes", "Free on the disk of the store's data.", room->free_bytes),
          gauge("tidemark_disk_bytes", "Size of the disk of the store's data.", room->total_bytes)};
}

}  // namespace

std::optional<DiskRoom> room_of(std::span<const std::filesystem::path> directories, std::uint64_t needed_bytes) {
  std::optional<DiskRoom> least;
  for (const auto& directory : directories) {
    std::error_code unknown;
    const auto space = std::filesystem::space(directory, unknown);
    struct ::stat about{};
    if (unknown || ::stat(directory.c_str(), &about) != 0) continue;
    if (!least || space.available < least->free_bytes) {
      least = DiskRoom{space.available, space.capacity, needed_bytes, about.st_dev};
    }
  }
  return least;
}

DiskMeter::DiskMeter(std::vector<std::filesystem::path> directories, std::uint64_t needed_bytes,
                     process::Metrics& metrics)
    : directories_(std::move(directories)),
      needed_bytes_(needed_bytes),
      figures_(std::make_shared<process::Figures>([this] { return figures_of(read()); })) {
  metrics.add(figures_);
}

rpc::Dispatch DiskMeter::beside(rpc::Dispatch store) {
  return rpc::make_dispatch(*this, kDiskHandlers, std::move(store));
}

}  // namespace tidemark::service
