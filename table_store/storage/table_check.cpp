#include "table_store/storage/table_check.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "common/base/operation_ledger.h"
#include "table_store/model/property_block.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {
namespace {

std::uint64_t number_in(std::string_view key) {
  key.remove_prefix(std::min<std::size_t>(1, key.size()));
  return kv::take_u64(key).value_or(0);
}

class RowCheck {
 public:
  RowCheck(const kv::Reader& rows, kv::CheckRun& run) : rows_(rows), run_(run) {}

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
    const auto tables = rows_.scan(kv::under("t"));
    for (; tables->valid(); tables->next()) {
      const auto table = kTableRecord.decode(tables->value());
      if (!table) {
        wrong("record", tables->key(), "the table cannot be read");
      } else if (!generations_.insert(table->generation).second) {
        wrong("reference", tables->key(), "another table has the same generation");
      } else if (table->generation > last_generation_) {
        wrong("figure", tables->key(), "its generation is beyond the last one given out");
      }
    }
    TRY(tables->status());
    const auto dropped = rows_.scan(kv::under(std::string(1, kDroppedGeneration)));
    for (; dropped->valid(); dropped->next()) generations_.insert(number_in(dropped->key()));
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
    if (!generations_.contains(number_in(key))) wrong("reference", key, "the entity belongs to no table");
    if (static_cast<std::uint64_t>(entity->version) > last_version_) {
      wrong("figure", key, "the entity's version is beyond the last one given out");
    }
  }

  void look_at_note(std::string_view key, std::string_view value) {
    const auto note = decode_note(value);
    const auto feed = number_in(key);
    if (!note || !place_of_note(key)) return wrong("record", key, "the note of a change cannot be read");
    if (!feeds_.contains(feed) && !generations_.contains(feed)) return wrong("reference", key, "belongs to no feed");
    const auto head = heads_.find(feed);
    if (head == heads_.end()) return;
    auto& before = sums_[feed];
    if (before != 0 && note->changes != before + 1) wrong("figure", key, "a change before it is missing in the log");
    if (note->changes > head->second.changes) wrong("figure", key, "the log has more changes than its head says");
    before = note->changes;
  }

  Result<void> look_at(std::string_view key, std::string_view value) {
    switch (key.empty() ? 0 : key.front()) {
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
        if (!decode_ledger(value)) wrong("record", key, "the ledger cannot be read");
        return {};
      case 'a':
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
  kv::CheckRun& run_;
  std::uint64_t last_version_ = 0, last_generation_ = 0;
  std::set<std::uint64_t> generations_, feeds_;
  std::map<std::uint64_t, HeadRecord> heads_;
  std::map<std::uint64_t, std::uint64_t> sums_;  // of the note before
};

}  // namespace

Result<void> check_tables(const kv::Engine& engine, kv::CheckRun& run) {
  const auto rows = engine.snapshot();
  return RowCheck(*rows, run).walk();
}

}  // namespace tidemark::table_store
