#include "common/kv/rocksdb_garbage.h"

#include <rocksdb/db.h>

#include "common/base/log.h"

namespace tidemark::kv::detail {

void GarbageWatch::OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo&) {
  std::uint64_t garbage = 0, all = 0;
  if (!db->GetIntProperty(rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &garbage) ||
      !db->GetIntProperty(rocksdb::DB::Properties::kLiveBlobFileSize, &all)) {
    return;
  }
  const bool moves = moves_values(moves_, garbage, all);
  if (moves == moves_) return;
  const auto set = db->SetOptions({{"enable_blob_garbage_collection", moves ? "true" : "false"}});
  if (set.ok()) {
    moves_ = moves;
  } else {
    log_warning("rocksdb: cannot change what compactions do with values that are kept apart: {}", set.ToString());
  }
}

}  // namespace tidemark::kv::detail
