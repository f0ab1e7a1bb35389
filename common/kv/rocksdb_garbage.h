// Internal to rocksdb_*.cpp: when compactions move values that are kept apart. A file of values goes when no value in
// it is wanted any more, so what is still wanted has to be moved out of old files; but a compaction cannot tell files
// with garbage from those without, and moves all that is old. Where nothing is overwritten or deleted, as in append
// blobs, that writes each value a second time for nothing, so it is done only while there is garbage enough. Thread
// safe.
#pragma once
#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>

namespace tidemark::kv::detail {

class GarbageWatch final : public rocksdb::EventListener {
 public:
  /// Whether to move values from now on, if so many bytes of all that is kept apart are garbage. Between the bounds it
  /// stays as it is.
  [[nodiscard]] static constexpr bool moves_values(bool moves_now, std::uint64_t garbage, std::uint64_t all) {
    return moves_now ? garbage > all / 8 : garbage > all / 4;
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo&) override;

 private:
  std::atomic<bool> moves_{false};  // as the database is opened
};

}  // namespace tidemark::kv::detail
