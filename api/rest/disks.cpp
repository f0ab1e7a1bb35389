#include "api/rest/disks.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/rest/api_routes.h"
#include "common/base/side_by_side.h"
#include "common/rpc/call.h"

namespace tidemark::api {
namespace {

using service::DiskRoom;

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(1UL << 30));
}

/// "the table store", "the table and queue stores"
std::string owners(const std::vector<std::string>& stores) {
  std::string out = "the " + stores.front();
  for (std::size_t i = 1; i < stores.size(); ++i) out += (i + 1 < stores.size() ? ", " : " and ") + stores[i];
  return out + (stores.size() == 1 ? " store" : " stores");
}

}  // namespace

std::vector<Disk> disks_of(const std::vector<std::pair<std::string, DiskRoom>>& rooms) {
  std::vector<Disk> out;
  for (const auto& [store, room] : rooms) {
    const auto same = std::ranges::find_if(out, [&room](const Disk& disk) {
      return disk.room.device == room.device && disk.room.total_bytes == room.total_bytes;
    });
    if (same == out.end()) {
      out.push_back({{store}, room});
      continue;
    }
    same->stores.push_back(store);
    same->room.free_bytes = std::min(same->room.free_bytes, room.free_bytes);
    same->room.needed_bytes = std::max(same->room.needed_bytes, room.needed_bytes);
  }
  return out;
}

void Disk::members(jobs::SpecMembers& to) const {
  static constexpr std::array<std::string_view, 3> kStores{"table", "queue", "blob"};
  std::string message;
  if (room.is_low()) {
    message = "The disk of " + owners(stores) + " has " + gibibytes(room.free_bytes) + " of " +
              gibibytes(room.total_bytes) + " left" + (room.is_full() ? ", so writes are refused" : "");
  }
  to.shows("stores", stores, {.one_of = kStores});
  to.shows("freeBytes", room.free_bytes, {.meaning = "room that the stores may use"});
  to.shows("totalBytes", room.total_bytes);
  to.shows("low", room.is_low(), {.meaning = "less than a tenth is free, or it is full"});
  to.shows("full", room.is_full(), {.meaning = "less is free than min_free_mib: writes are refused"});
  to.shows_unless_empty("message", message, {.meaning = "of a disk that is low"});
}

Task<std::vector<Disk>> read_disks(Api& api, Duration patience) {
  const auto& stores = api.backups->stores();
  std::vector<std::optional<DiskRoom>> found(stores.size());
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    if (!api.watch->answers(stores[number].name)) co_return Result<void>{};
    const auto room = co_await rpc::call(*stores[number].link, service::ReadDiskRoom{}, patience);
    if (room) found[number] = *room;
    co_return Result<void>{};
  };
  std::ignore = co_await side_by_side(api.clock, stores.size(), std::move(step));
  std::vector<std::pair<std::string, DiskRoom>> rooms;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (found[i]) rooms.emplace_back(stores[i].name, *found[i]);
  }
  co_return disks_of(rooms);
}

}  // namespace tidemark::api
