#include "table_store/storage/table_directory.h"

namespace tidemark::table_store {

std::optional<std::uint64_t> TableDirectory::find(const std::string& table_key) const {
  MutexLock lock(mutex_);
  if (drops_ > 0) return std::nullopt;
  const auto found = generations_.find(table_key);
  if (found == generations_.end()) return std::nullopt;
  return found->second;
}

TableDirectory::Ticket TableDirectory::ticket() const {
  MutexLock lock(mutex_);
  return drops_ended_;
}

void TableDirectory::remember(const std::string& table_key, std::uint64_t generation, Ticket ticket) {
  MutexLock lock(mutex_);
  if (drops_ > 0 || ticket != drops_ended_) return;
  if (generations_.size() >= kMaxTables) generations_.clear();
  generations_[table_key] = generation;
}

TableDirectory::Drop::Drop(TableDirectory& directory, const std::string& table_key) : directory_(directory) {
  MutexLock lock(directory_.mutex_);
  ++directory_.drops_;
  directory_.generations_.erase(table_key);
}

TableDirectory::Drop::~Drop() {
  MutexLock lock(directory_.mutex_);
  --directory_.drops_;
  ++directory_.drops_ended_;
}

}  // namespace tidemark::table_store
