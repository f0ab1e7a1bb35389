#include "table_store/storage/table_directory.h"

namespace tidemark::table_store {

std::optional<KnownTable> TableDirectory::find(const std::string& table_key) const {
  MutexLock lock(mutex_);
  if (changes_ > 0 || closed_) return std::nullopt;
  const auto found = tables_.find(table_key);
  if (found == tables_.end()) return std::nullopt;
  return found->second;
}

TableDirectory::Ticket TableDirectory::ticket() const {
  MutexLock lock(mutex_);
  return changes_ended_;
}

void TableDirectory::remember(const std::string& table_key, KnownTable table, Ticket ticket) {
  MutexLock lock(mutex_);
  if (changes_ > 0 || closed_ || ticket != changes_ended_) return;
  if (tables_.size() >= kMaxTables) tables_.clear();
  tables_[table_key] = std::move(table);
}

void TableDirectory::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  tables_.clear();
}

void TableDirectory::open() {
  MutexLock lock(mutex_);
  closed_ = false;
  ++changes_ended_;
}

TableDirectory::Change::Change(TableDirectory& directory, const std::string& table_key) : directory_(directory) {
  MutexLock lock(directory_.mutex_);
  ++directory_.changes_;
  directory_.tables_.erase(table_key);
}

TableDirectory::Change::~Change() {
  MutexLock lock(directory_.mutex_);
  --directory_.changes_;
  ++directory_.changes_ended_;
}

}  // namespace tidemark::table_store
