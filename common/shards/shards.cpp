#include "common/shards/shards.h"

#include <sodium/crypto_shorthash.h>

#include <string>

#include "common/kv/key_codec.h"

namespace tidemark::shards {

static_assert(std::tuple_size_v<Placement::Key> == crypto_shorthash_KEYBYTES);
static_assert(sizeof(std::uint64_t) == crypto_shorthash_BYTES);

/// SipHash-2-4. The ends of the parts count: ("a", "bc") is another name than ("ab", "c").
std::uint64_t Placement::hash(std::initializer_list<std::string_view> name) const {
  std::string bytes;
  for (const auto part : name) kv::append_text(bytes, part);
  std::array<std::uint8_t, crypto_shorthash_BYTES> out{};
  crypto_shorthash(out.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), key_.data());
  std::uint64_t hash = 0;
  for (const auto byte : out) hash = hash << 8 | byte;
  return hash;
}

std::vector<std::shared_ptr<const kv::Reader>> snapshots_of(const Shards& shards) {
  std::vector<std::shared_ptr<const kv::Reader>> snapshots;
  for (const auto& shard : shards.all) snapshots.push_back(shard.engine.snapshot());
  return snapshots;
}

MergedScan::MergedScan(const std::vector<std::shared_ptr<const kv::Reader>>& rows, const kv::KeyRange& range) {
  for (const auto& shard : rows) cursors_.push_back(shard->scan(range));
  find_first();
}

MergedScan::MergedScan(const std::vector<const kv::Reader*>& rows, const kv::KeyRange& range, Length length) {
  for (const auto* shard : rows) {
    cursors_.push_back(length == Length::kLong ? shard->scan_long(range) : shard->scan(range));
  }
  find_first();
}

void MergedScan::next() {
  cursors_[at_]->next();
  find_first();
}

/// A cursor that failed ends the walk: its next row might have come before all others.
void MergedScan::find_first() {
  at_ = cursors_.size();
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    if (!cursors_[i]->valid()) {
      if (cursors_[i]->status()) continue;
      at_ = cursors_.size();
      return;
    }
    if (!valid() || cursors_[i]->key() < key()) at_ = i;
  }
}

Result<void> MergedScan::status() const {
  for (const auto& cursor : cursors_) TRY(cursor->status());
  return {};
}

}  // namespace tidemark::shards
