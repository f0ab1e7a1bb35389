#include "table_store/storage/table_check.h"

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

/// Returns the part of a feed's record that is the same on all shards.
std::string declared_in(FeedRecord feed) {
  for (auto& follower : feed.followers) follower = {.following = std::move(follower.following)};
  if (feed.kept) feed.kept = KeptRecord{.feed = feed.kept->feed, .generation = feed.kept->generation};
  feed.division.reset();
  return kFeedRecord.encode(feed);
}

/// Returns the same of the catalogue's feed with this key; empty if it has none, nothing while it is being changed.
std::optional<std::string> declared_by(const kv::Reader& catalogue, std::string_view key) {
  auto rest = key.substr(1);
  const auto account = kv::take_text(rest).value_or("");
  const auto table = kv::take_text(rest).value_or("");
  const auto changing = shards::CatalogueCopies::is_changing(catalogue, kCopiedTable, account, table);
  const auto row = catalogue.get(key);
  if (!changing || *changing || !row) return std::nullopt;
  const auto feed = kFeedRecord.decode(row->value_or(""));
  return feed ? declared_in(*feed) : "";
}

/// The catalogue at two moments: other shards are read between them.
struct Catalogue {
  struct Table {
    std::string account, name;
  };

  const kv::Reader& before;
  const kv::Reader& after;
  std::map<std::uint64_t, Table> tables = {};  // by generation, of both moments

  Result<void> read_tables(const kv::Reader& catalogue) {
    const auto rows = catalogue.scan(kv::under("t"));
    for (; rows->valid(); rows->next()) {
      auto rest = rows->key().substr(1);
      auto account = kv::take_text(rest);
      auto table = kv::take_text(rest);
      const auto generation = decode_table_generation(rows->value());
      if (account && table && generation) tables[*generation] = {std::move(*account), std::move(*table)};
    }
    return rows->status();
  }
  /// Tells whether the catalogue has no such feed, or one with other followers than this record of another shard.
  [[nodiscard]] bool denies(std::string_view key, const FeedRecord& feed) const {
    const auto said = declared_by(before, key);
    return said && said == declared_by(after, key) && *said != declared_in(feed);
  }
};

/// Checks the rows of one shard.
class ShardCheck : kv::RowCheck {
 public:
  ShardCheck(const kv::Reader& rows, std::size_t shard, const shards::Placement& placement, const Catalogue& catalogue,
             kv::CheckRun& run)
      : RowCheck(rows, run), shard_(shard), placement_(placement), catalogue_(catalogue) {}

  Result<void> run() {
    const std::string stray = shard_ == 0 ? "" : "belongs on the first shard";
    return walk(
        {{"g", [this](auto... row) { look_at_counter(last_generation_, row...); }, stray},
         {"v", [this](auto... row) { look_at_counter(last_version_, row...); }},
         {"d", [this](auto key, auto) { dropped_.insert(kv::number_in(key)); }},
         {"t", reads(kTableRecord, "the table cannot be read", [this](auto&... row) { look_at_table(row...); }), stray},
         {"h", reads(kHeadRecord, "the head of a feed cannot be read")},
         {"f", reads(kFeedRecord, "the feed cannot be read", [this](auto&... row) { look_at_feed(row...); })},
         {"e", [this](auto... row) { look_at_entity(row...); }},
         {"l", [this](auto... row) { look_at_note(row...); }},
         {"o", reads(shards::ledger_in, "the ledger cannot be read")},
         {"py", {}, stray},
         {"acO"}});
  }

 private:
  void look_at_counter(std::uint64_t& last, std::string_view key, std::string_view value) {
    if (key.size() > 1) return;
    const auto counter = kCounterRecord.decode(value);
    if (!counter) wrong("record", key, "the counter cannot be read");
    last = counter.value_or(~std::uint64_t{0});
  }

  void look_at_table(std::string_view key, const TableRecord& table) {
    if (!generations_.insert(table.generation).second) {
      wrong("reference", key, "another table has the same generation");
    } else if (table.generation > last_generation_) {
      wrong("figure", key, "its generation is beyond the last one given out");
    }
  }

  void look_at_feed(std::string_view key, const FeedRecord& record) {
    auto& feed = feeds_[record.feed];
    if (shard_ != 0 && catalogue_.denies(key, record)) {
      wrong("reference", key, "the catalogue does not say who follows the table on this shard");
    }
    const auto head = read_head(rows_, record.feed);
    if (!head) return wrong("reference", key, "the feed has no head");
    feed.head = *head;
    for (const auto& follower : record.followers) {
      if (follower.changes > head->changes || static_cast<std::uint64_t>(follower.position) > last_version_) {
        wrong("figure", key, "the follower " + follower.following.follower + " is ahead of the log");
      }
    }
  }

  void look_at_entity(std::string_view key, std::string_view value) {
    EntityKeyReader keys;
    if (!keys.read(key)) return wrong("record", key, "the entity's key cannot be read");
    const auto entity = view_entity(value);
    if (!entity || !is_property_block(entity->block)) return wrong("record", key, "the entity cannot be read");
    const auto generation = kv::number_in(key);
    const auto table = catalogue_.tables.find(generation);
    if (table == catalogue_.tables.end()) {
      if (!dropped_.contains(generation)) wrong("reference", key, "the entity belongs to no table");
    } else if (placement_.of({table->second.account, table->second.name, keys.partition_key}) != shard_) {
      wrong("reference", key, "the entity is on another shard than its name says");
    }
    if (static_cast<std::uint64_t>(entity->version) > last_version_) {
      wrong("figure", key, "the entity's version is beyond the last one given out");
    }
  }

  void look_at_note(std::string_view key, std::string_view value) {
    const auto note = decode_note(value);
    if (!note || !place_of_note(key)) return wrong("record", key, "the note of a change cannot be read");
    const auto found = feeds_.find(kv::number_in(key));
    if (found == feeds_.end()) {
      if (!dropped_.contains(kv::number_in(key))) wrong("reference", key, "belongs to no feed");
      return;
    }
    auto& [head, before] = found->second;
    if (!head) return;
    if (before != 0 && note->changes != before + 1) wrong("figure", key, "a change before it is missing in the log");
    if (note->changes > head->changes) wrong("figure", key, "the log has more changes than its head says");
    before = note->changes;
  }

  struct Feed {
    std::optional<HeadRecord> head;
    std::uint64_t before = 0;  // the changes up to the previous note
  };

  const std::size_t shard_;
  const shards::Placement& placement_;
  const Catalogue& catalogue_;
  std::uint64_t last_version_ = 0, last_generation_ = 0;
  std::set<std::uint64_t> generations_, dropped_;
  std::map<std::uint64_t, Feed> feeds_;
};

}  // namespace

/// Compares the rows of other shards with the catalogue before and after: tables come and go meanwhile.
Result<void> check_tables(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                          kv::CheckRun& run) {
  std::vector<std::shared_ptr<const kv::Reader>> rows;
  for (const auto* shard : shards) rows.push_back(shard->snapshot());
  const auto after = shards.size() == 1 ? rows.front() : shards.front()->snapshot();
  Catalogue catalogue{.before = *rows.front(), .after = *after};
  TRY(catalogue.read_tables(*rows.front()));
  if (shards.size() > 1) TRY(catalogue.read_tables(*after));
  for (std::size_t shard = 0; shard < rows.size(); ++shard) {
    TRY(ShardCheck(*rows[shard], shard, placement, catalogue, run).run());
  }
  const std::vector<std::unique_ptr<TableShard>> none;
  return shards::CatalogueCopies::check({*rows.front(), rows, *after}, kCopiedTable, CopiedTables(none), run);
}

Result<void> check_tables(const kv::Engine& engine, kv::CheckRun& run) {
  const auto* only = &engine;
  return check_tables({&only, 1}, shards::Placement(), run);
}

}  // namespace tidemark::table_store
