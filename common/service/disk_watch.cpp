#include "common/service/disk_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "common/base/log.h"
#include "common/service/disk_room.h"

namespace tidemark::service {
namespace {

constexpr std::size_t kProbeBytes = 1UL << 20;
/// A disk that takes the probe but not the database's writes must not make the store restart all the time.
constexpr auto kBetweenRestarts = std::chrono::seconds(10);

}  // namespace

DiskWatch::DiskWatch(shards::StoredShards& shards, Options options, std::function<void()> reopen)
    : shards_(shards),
      options_(std::move(options)),
      reopen_(std::move(reopen)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void DiskWatch::run(const std::stop_token& stop) {
  const auto began = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const auto failure = shards_.failure();
    if (!failure || failure->code != ErrorCode::kStorageFailure) {
      look_for_space();
    } else {
      if (!std::exchange(failed_, true)) {
        log_error("the {} failed a write; writes are refused until it takes them again detail=\"{}\"", kind(),
                  failure->detail);
      }
      const bool too_soon = options_.restarted && std::chrono::steady_clock::now() - began < kBetweenRestarts;
      if (!too_soon && recovered()) {
        log_warning("the {} takes writes again: the program starts again", kind());
        return reopen_();
      }
    }
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, options_.interval, [] { return false; });
  }
}

void DiskWatch::look_for_space() {
  const auto room = room_of(options_.directories, options_.min_free_bytes);
  if (!room) return;
  const auto free = room->free_bytes;
  // Somewhat more than the limit, so that a disk at the limit does not change state with every file.
  const auto enough = options_.min_free_bytes + (short_of_space_ ? options_.min_free_bytes / 8 : 0);
  if (const bool is_short = free < enough; std::exchange(short_of_space_, is_short) == is_short) return;
  if (!short_of_space_) {
    log_info("there is space again: writes go on free_bytes={}", free);
    return shards_.refuse_writes(std::nullopt);
  }
  log_error("the disk is nearly full: writes are refused until there is space free_bytes={} min_free_bytes={}", free,
            options_.min_free_bytes);
  shards_.refuse_writes(make_error(ErrorCode::kInsufficientStorage));
}

const char* DiskWatch::kind() const { return options_.recovered ? "database" : "disk"; }

bool DiskWatch::recovered() const { return options_.recovered ? options_.recovered() : takes_writes(); }

bool DiskWatch::takes_writes() const {
  const auto room = room_of(options_.directories, std::max<std::uint64_t>(options_.min_free_bytes, 2 * kProbeBytes));
  if (!room || room->is_full()) return false;
  auto path = (options_.directories.front() / ".disk-probe-XXXXXX").string();
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return false;
  const std::vector<char> bytes(kProbeBytes, 'p');
  const auto written = ::write(fd, bytes.data(), bytes.size());
  const bool whole = written == static_cast<ssize_t>(bytes.size()) && ::fdatasync(fd) == 0;
  ::close(fd);
  ::unlink(path.c_str());
  return whole;
}

}  // namespace tidemark::service
