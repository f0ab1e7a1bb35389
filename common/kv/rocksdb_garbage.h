// Internal to rocksdb_*.cpp: decides when compactions move values that are kept apart. A file of values is deleted when
// no value in it is wanted any more, so wanted values have to be moved out of old files. But a compaction cannot tell
// files with garbage from those without, and moves all old values. Where nothing is overwritten or deleted, as in
// append blobs, that writes each value a second time for nothing, so it is done only while there is enough garbage.
// Thread safe.
#pragma once
#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>

namespace tidemark::kv::detail {

class GarbageWatch final : public rocksdb::EventListener {
 public:
  /// Decides whether values are moved from now on, given the garbage and all bytes of the values kept apart. Between
  /// the bounds, the decision stays.
  [[nodiscard]] static constexpr bool moves_values(bool moves_now, std::uint64_t garbage, std::uint64_t all) {
    return moves_now ? garbage > all / 8 : garbage > all / 4;
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo&) override;

 private:
  std::atomic<bool> moves_{false};  // the value with which the database is opened
};

}  // namespace tidemark::kv::detail
