#include "table_store/storage/table_check.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "common/shards/operation_ledgers.h"
#include "table_store/model/property_block.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"
#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {
namespace {

std::uint64_t number_in(std::string_view key) {
  key.remove_prefix(std::min<std::size_t>(1, key.size()));
  return kv::take_u64(key).value_or(0);
}

/// The tables in the catalogue, at one of two moments.
class KnownTables {
 public:
  struct Named {
    std::string account, table;
  };

  /// Reads the catalogue. Call it with the state before the check, and again with the present one.
  Result<void> read(const kv::Reader& catalogue) {
    TRY(read_feeds(catalogue));
    const auto tables = catalogue.scan(kv::under("t"));
    for (; tables->valid(); tables->next()) {
      auto rest = tables->key().substr(1);
      auto account = kv::take_text(rest);
      auto table = kv::take_text(rest);
      const auto generation = decode_table_generation(tables->value());
      if (account && table && generation) by_generation_[*generation] = {std::move(*account), std::move(*table)};
    }
    return tables->status();
  }
  /// Returns null if there is no such table.
  [[nodiscard]] const Named* find(std::uint64_t generation) const {
    const auto found = by_generation_.find(generation);
    return found == by_generation_.end() ? nullptr : &found->second;
  }
  /// Tells whether the catalogue has no such feed, or one with other followers than this record of another shard.
  [[nodiscard]] bool denies(std::string_view key, const FeedRecord& feed) const {
    if (changing_.contains(key)) return false;
    const auto said = feeds_.find(key);
    return said == feeds_.end() || said->second != declared_in(feed);
  }

 private:
  /// Returns the part of a feed's record that is the same on all shards.
  static std::string declared_in(FeedRecord feed) {
    for (auto& follower : feed.followers) follower = {.following = std::move(follower.following)};
    if (feed.kept) feed.kept = KeptRecord{.feed = feed.kept->feed, .generation = feed.kept->generation};
    feed.division.reset();
    return kFeedRecord.encode(feed);
  }
  /// Reads the feeds. Feeds that differ from the earlier state are being changed.
  Result<void> read_feeds(const kv::Reader& catalogue) {
    std::map<std::string, std::string, std::less<>> feeds;
    const auto rows = catalogue.scan(feeds_range());
    for (; rows->valid(); rows->next()) {
      const auto feed = kFeedRecord.decode(rows->value());
      if (feed) feeds.emplace(rows->key(), declared_in(*feed));
    }
    TRY(rows->status());
    const auto marks = catalogue.scan(kv::under(std::string(1, kCopiedTable)));
    for (; marks->valid(); marks->next()) {
      auto rest = marks->key().substr(1);
      const auto account = kv::take_text(rest);
      const auto table = kv::take_text(rest);
      if (!account || !table || !TRY(shards::CatalogueCopies::is_changing(catalogue, kCopiedTable, *account, *table)))
        continue;
      changing_.insert(feed_key(*account, *table));
    }
    TRY(marks->status());
    if (std::exchange(read_, true)) {
      for (const auto& [key, said] : feeds_) note_difference(key, said, feeds);
      for (const auto& [key, said] : feeds) note_difference(key, said, feeds_);
    }
    feeds_ = std::move(feeds);
    return {};
  }
  void note_difference(const std::string& key, const std::string& said,
                       const std::map<std::string, std::string, std::less<>>& in) {
    const auto found = in.find(key);
    if (found == in.end() || found->second != said) changing_.insert(key);
  }

  std::map<std::uint64_t, Named> by_generation_;
  std::map<std::string, std::string, std::less<>> feeds_;  // the declarations, by key
  std::set<std::string, std::less<>> changing_;            // of the same keys
  bool read_ = false;
};

/// Checks the rows of one shard.
class RowCheck {
 public:
  RowCheck(const kv::Reader& rows, std::size_t shard, const shards::Placement& placement, const KnownTables& tables,
           kv::CheckRun& run)
      : rows_(rows), shard_(shard), placement_(placement), tables_(tables), run_(run) {}

  Result<void> walk() {
    last_version_ = TRY(counter(kLastVersionKey));
    last_generation_ = TRY(counter(kLastGenerationKey));
    TRY(read_tables());
    TRY(read_feeds());
    return kv::check_rows(rows_, {}, run_, [this](auto key, auto value) { return look_at(key, value); });
  }

 private:
  Result<std::uint64_t> counter(std::string_view key) {
    const auto bytes = TRY(rows_.get(key));
    if (!bytes) return 0;
    const auto value = kCounterRecord.decode(*bytes);
    if (!value) wrong("record", key, "the counter cannot be read");
    return value.value_or(~std::uint64_t{0});
  }

  Result<void> read_tables() {
    std::set<std::uint64_t> seen;
    const auto tables = rows_.scan(kv::under("t"));
    for (; tables->valid(); tables->next()) {
      const auto table = kTableRecord.decode(tables->value());
      if (!table) {
        wrong("record", tables->key(), "the table cannot be read");
      } else if (!seen.insert(table->generation).second) {
        wrong("reference", tables->key(), "another table has the same generation");
      } else if (table->generation > last_generation_) {
        wrong("figure", tables->key(), "its generation is beyond the last one given out");
      }
    }
    TRY(tables->status());
    const auto dropped = rows_.scan(kv::under(std::string(1, kDroppedGeneration)));
    for (; dropped->valid(); dropped->next()) dropped_.insert(number_in(dropped->key()));
    return dropped->status();
  }

  Result<void> read_feeds() {
    const auto feeds = rows_.scan(feeds_range());
    for (; feeds->valid(); feeds->next()) {
      const auto feed = kFeedRecord.decode(feeds->value());
      if (!feed) {
        wrong("record", feeds->key(), "the feed cannot be read");
        continue;
      }
      feeds_.insert(feed->feed);
      if (shard_ != 0 && tables_.denies(feeds->key(), *feed)) {
        wrong("reference", feeds->key(), "the catalogue does not say who follows the table on this shard");
      }
      const auto head = read_head(rows_, feed->feed);
      if (!head) {
        wrong("reference", feeds->key(), "the feed has no head");
      } else {
        check_positions(feeds->key(), *feed, *head);
      }
    }
    return feeds->status();
  }

  void check_positions(std::string_view key, const FeedRecord& feed, const HeadRecord& head) {
    for (const auto& follower : feed.followers) {
      if (follower.changes > head.changes || static_cast<std::uint64_t>(follower.position) > last_version_) {
        wrong("figure", key, "the follower " + follower.following.follower + " is ahead of the log");
      }
    }
    heads_[feed.feed] = head;
  }

  void look_at_entity(std::string_view key, std::string_view value) {
    EntityKeyReader keys;
    if (!keys.read(key)) return wrong("record", key, "the entity's key cannot be read");
    const auto entity = view_entity(value);
    if (!entity || !is_property_block(entity->block)) return wrong("record", key, "the entity cannot be read");
    const auto* table = tables_.find(number_in(key));
    if (table == nullptr && !dropped_.contains(number_in(key))) {
      wrong("reference", key, "the entity belongs to no table");
    } else if (table != nullptr && placement_.of({table->account, table->table, keys.partition_key}) != shard_) {
      wrong("reference", key, "the entity is on another shard than its name says");
    }
    if (static_cast<std::uint64_t>(entity->version) > last_version_) {
      wrong("figure", key, "the entity's version is beyond the last one given out");
    }
  }

  void look_at_note(std::string_view key, std::string_view value) {
    const auto note = decode_note(value);
    const auto feed = number_in(key);
    if (!note || !place_of_note(key)) return wrong("record", key, "the note of a change cannot be read");
    if (!feeds_.contains(feed) && !dropped_.contains(feed)) return wrong("reference", key, "belongs to no feed");
    const auto head = heads_.find(feed);
    if (head == heads_.end()) return;
    auto& before = sums_[feed];
    if (before != 0 && note->changes != before + 1) wrong("figure", key, "a change before it is missing in the log");
    if (note->changes > head->second.changes) wrong("figure", key, "the log has more changes than its head says");
    before = note->changes;
  }

  Result<void> look_at(std::string_view key, std::string_view value) {
    const auto kind = key.empty() ? '\0' : key.front();
    if (shard_ != 0 && std::string_view("gpty").contains(kind)) {
      wrong("stray", key, "belongs on the first shard");
      return {};
    }
    switch (kind) {
      case 'e':
        look_at_entity(key, value);
        return {};
      case 'l':
        look_at_note(key, value);
        return {};
      case 'h':
        if (!kHeadRecord.decode(value)) wrong("record", key, "the head of a feed cannot be read");
        return {};
      case 'o':
        if (!shards::ledger_in(value)) wrong("record", key, "the ledger cannot be read");
        return {};
      case 'a':
      case 'c':
      case 'd':
      case 'f':
      case 'g':
      case 'O':
      case 'p':
      case 't':
      case 'v':
      case 'y':
        return {};
      default:
        wrong("stray", key, "is of a kind that this version does not know");
        return {};
    }
  }

  void wrong(std::string_view kind, std::string_view key, std::string what) {
    run_.found(kind, kv::row_name(key), std::move(what));
  }

  const kv::Reader& rows_;
  const std::size_t shard_;
  const shards::Placement& placement_;
  const KnownTables& tables_;
  kv::CheckRun& run_;
  std::uint64_t last_version_ = 0, last_generation_ = 0;
  std::set<std::uint64_t> dropped_, feeds_;
  std::map<std::uint64_t, HeadRecord> heads_;
  std::map<std::uint64_t, std::uint64_t> sums_;  // of the previous note
};

}  // namespace

/// Compares the rows of other shards with the catalogue before and after: tables come and go meanwhile.
Result<void> check_tables(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                          kv::CheckRun& run) {
  std::vector<std::shared_ptr<const kv::Reader>> rows;
  for (const auto* shard : shards) rows.push_back(shard->snapshot());
  const auto after = shards.size() == 1 ? rows.front() : shards.front()->snapshot();
  KnownTables tables;
  TRY(tables.read(*rows.front()));
  if (shards.size() > 1) TRY(tables.read(*after));
  for (std::size_t shard = 0; shard < rows.size(); ++shard) {
    TRY(RowCheck(*rows[shard], shard, placement, tables, run).walk());
  }
  const std::vector<std::unique_ptr<TableShard>> none;
  return shards::CatalogueCopies::check({*rows.front(), rows, *after}, kCopiedTable, CopiedTables(none), run);
}

Result<void> check_tables(const kv::Engine& engine, kv::CheckRun& run) {
  const auto* only = &engine;
  return check_tables({&only, 1}, shards::Placement(), run);
}

}  // namespace tidemark::table_store
