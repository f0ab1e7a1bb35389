// A store divided over shards (docs/scale.md). Each shard has an engine of its own, and with it a writer, a log and
// versions. A row's shard is chosen by the name of the thing that the row belongs to, such as an account and a queue.
// The choice is a hash under a key that was made with the store, so that clients, who choose names, cannot choose
// shards. A transaction touches one shard.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "common/kv/engine.h"
#include "common/shards/hot_names.h"

namespace tidemark::shards {

class Peers;

inline constexpr std::size_t kMaxShards = 4096;

/// Maps a name to its shard, which stays the same as long as the store lives. Thread safe.
class Placement {
 public:
  using Key = std::array<std::uint8_t, 16>;

  /// One shard, which has everything.
  Placement() = default;
  Placement(std::size_t shards, const Key& key) : shards_(shards), key_(key) {}

  [[nodiscard]] std::size_t shards() const { return shards_; }
  [[nodiscard]] const Key& key() const { return key_; }
  /// Returns the shard of a name with these parts.
  [[nodiscard]] std::size_t of(std::initializer_list<std::string_view> name) const {
    return shards_ == 1 ? 0 : hash(name) % shards_;
  }
  /// Chooses one of `count` things, by a name with these parts; under the same key.
  [[nodiscard]] std::size_t among(std::size_t count, std::initializer_list<std::string_view> name) const {
    return hash(name) % count;
  }

 private:
  [[nodiscard]] std::uint64_t hash(std::initializer_list<std::string_view> name) const;
  std::size_t shards_ = 1;
  Key key_{};
};

struct Shard {
  kv::Engine& engine;
  const Clock& ages;        // for the age of things: age_clock.h
  HotNames* hot = nullptr;  // null: not wanted

  /// Notes that a transaction for this name begins.
  void wrote(std::string_view account, std::string_view name, std::string_view part = {}) const {
    if (hot != nullptr) hot->wrote(account, name, part);
  }
};

/// The shards of a store, by their number. The first is also the catalogue: it has the rows that belong to no name.
struct Shards {
  std::vector<Shard> all;
  Placement placement = {};
  /// The processes that share the shards. Null: all shards are here.
  Peers* peers = nullptr;

  [[nodiscard]] const Shard& catalogue() const { return all.front(); }
};

/// Returns a view of each shard. The views are not of one moment: each one shows everything that its shard had
/// committed when it was taken.
std::vector<std::shared_ptr<const kv::Reader>> snapshots_of(const Shards& shards);

/// Walks the same range of all shards forward, in key order. Used as a Cursor; no key is on two shards.
class MergedScan {
 public:
  enum class Length { kShort, kLong };  // kLong: as Reader::scan_long
  MergedScan(const std::vector<std::shared_ptr<const kv::Reader>>& rows, const kv::KeyRange& range);
  MergedScan(const std::vector<const kv::Reader*>& rows, const kv::KeyRange& range, Length length = Length::kShort);
  [[nodiscard]] bool valid() const { return at_ < cursors_.size(); }
  void next();
  [[nodiscard]] std::string_view key() const { return cursors_[at_]->key(); }
  [[nodiscard]] std::string_view value() const { return cursors_[at_]->value(); }
  /// The number of the shard that has this row.
  [[nodiscard]] std::size_t shard() const { return at_; }
  [[nodiscard]] Result<void> status() const;

 private:
  void find_first();
  std::vector<std::unique_ptr<kv::Cursor>> cursors_;
  std::size_t at_ = 0;  // the one with the lowest key; the number of cursors at the end
};

}  // namespace tidemark::shards
