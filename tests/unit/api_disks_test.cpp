// The reported state of the disks that stores are on.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/rest/disks.h"
#include "api/rest/render.h"

namespace tidemark::api {
namespace {

using service::DiskRoom;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = 1UL << 30;

TEST(Disks, StoresOnOneDiskAreToldOfTogether) {
  const auto disks = disks_of({{"table", {50 * kGiB, 100 * kGiB, 1, 7}},
                               {"queue", {49 * kGiB, 100 * kGiB, 2, 7}},
                               {"blob", {500 * kGiB, 1000 * kGiB, 1, 7}}});
  ASSERT_EQ(disks.size(), 2U) << "a device of the same number on another machine is rarely of the same size";
  EXPECT_THAT(disks[0].stores, ElementsAre("table", "queue"));
  EXPECT_EQ(disks[0].room.free_bytes, 49 * kGiB) << "of the one that was asked last, or has the least";
  EXPECT_EQ(disks[0].room.needed_bytes, 2U);
  EXPECT_THAT(disks[1].stores, ElementsAre("blob"));
  EXPECT_TRUE(disks_of({}).empty());
}

TEST(Disks, ATenthIsLittleAndWhatIsNeededIsNothing) {
  const auto told = [](std::uint64_t free, std::uint64_t needed) {
    return json_of(Disk{{"table", "queue", "blob"}, {free, 100 * kGiB, needed, 1}});
  };
  const auto plenty = told(10 * kGiB, 1);
  EXPECT_FALSE(plenty["low"] || plenty["full"] || plenty.contains("message")) << plenty;
  const auto low = told(9 * kGiB, 1);
  EXPECT_TRUE(low["low"] && !low["full"]) << low;
  EXPECT_EQ(low["message"], "The disk of the table, queue and blob stores has 9.0 GiB of 100.0 GiB left");
  const auto full = told(20 * kGiB, 30 * kGiB);
  EXPECT_TRUE(full["low"] && full["full"]) << full;
  EXPECT_THAT(full["message"].get<std::string>(), HasSubstr("left, so writes are refused"));
}

std::optional<DiskRoom> room_of(std::vector<std::filesystem::path> directories) {
  return service::room_of(directories, 5);
}

TEST(Disks, RoomIsThatOfTheFullestFileSystem) {
  const auto here = room_of({std::filesystem::temp_directory_path()});
  ASSERT_TRUE(here);
  EXPECT_GT(here->total_bytes, 0U);
  EXPECT_LE(here->free_bytes, here->total_bytes);
  EXPECT_EQ(here->needed_bytes, 5U);
  EXPECT_FALSE(room_of({"/nowhere/at/all"}));
  // Nothing is free in /proc.
  const auto fullest = room_of({std::filesystem::temp_directory_path(), "/proc", "/nowhere/at/all"});
  ASSERT_TRUE(fullest);
  EXPECT_EQ(fullest->free_bytes, 0U);
  EXPECT_NE(fullest->device, here->device);
}

}  // namespace
}  // namespace tidemark::api
