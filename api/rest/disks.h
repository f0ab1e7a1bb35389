// The disks that hold the stores' data, and their free room. Stores on one disk are reported together.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/service/disk_room.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

struct Api;

struct Disk {
  std::vector<std::string> stores;  // "table"
  service::DiskRoom room;           // of the store that has the least
  static constexpr const char* kSchema = "Disk";
  void members(jobs::SpecMembers& to) const;
};

/// Joins the entries of the same disk. Pure.
std::vector<Disk> disks_of(const std::vector<std::pair<std::string, service::DiskRoom>>& rooms);

/// Reads the disks of the stores that answer in time.
Task<std::vector<Disk>> read_disks(Api& api, Duration patience);

}  // namespace tidemark::api
