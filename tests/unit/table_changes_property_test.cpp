// Random writers and followers. After every step the tables are read as a whole, so the test knows the changes and the
// entities before them, however they were written. A follower that applies the pages, with random limits and from its
// last acknowledged position again whenever it "dies", is told exactly that, and ends with the contents of the table.
// With one shard and with several.
// tests/support/environment.h tells how to repeat a run or make it longer.
#include <iostream>
#include <set>

#include "kv_test_support.h"
#include "table_changes_fixture.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"
#include "tests/support/environment.h"

namespace tidemark::table_store {
namespace {

using Key = std::pair<std::string, std::string>;
using Content = std::map<Key, Entity>;

constexpr const char* kTables[] = {"tableA", "tableB"};
constexpr const char* kProperties[] = {"City", "Age", "Name"};
const std::vector<std::string> kFollowed{"Age", "City"};  // by all followers of a table together

struct Event {
  std::size_t shard = 0;
  Version version = 0;
  Key key;
  std::optional<std::string> before;  // the followed properties of the previous entity
};

struct TableHistory {
  Content now;
  std::vector<Event> events;
  std::vector<Position> drops;
};

struct FollowerModel {
  std::size_t table = 0;
  Following following;
  Content content, acknowledged_content;
  Position position, acknowledged;
};

std::string text_of(const Entity& entity) {
  return std::to_string(entity.version) + " " + property_block(entity.properties);
}

bool same(const Content& a, const Content& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && text_of(x.second) == text_of(y.second); });
}

class Playing {
 public:
  using MakeEngine = std::function<std::unique_ptr<kv::Engine>(std::size_t shard)>;
  Playing(MakeEngine make, std::uint64_t seed, std::size_t shards)
      : make_(std::move(make)), dice_(make_seeded_random(seed)), placement_(shards, {3, 1, 4}) {
    open();
  }

  void run(std::uint64_t steps) {
    for (const auto* table : kTables) ASSERT_TRUE(run_task(service_->create_table("acct", table)).has_value());
    add("first", 0, {"City"}, 1'000'000);
    add("second", 0, {"Age"}, 40 * placement_.shards());
    add("third", 1, {"Age", "City"}, 1'000'000);
    for (std::uint64_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    // A table that does not exist cannot be followed anew.
    for (const auto* table : kTables) static_cast<void>(run_task(service_->create_table("acct", table)).has_value());
    for (auto& follower : followers_) {
      while (!::testing::Test::HasFailure() && read_page(follower)) {
      }
      EXPECT_TRUE(same(follower.content, tables_[follower.table].now)) << follower.following.follower;
    }
    EXPECT_GT(pages_, steps / 20);
    EXPECT_GT(stale_, 0U);
  }

 private:
  void open() {
    shards::Shards shards{{}, placement_};
    for (std::size_t shard = 0; shard < placement_.shards(); ++shard) {
      shards.all.push_back({*engines_.emplace_back(make_(shard)), clock_});
    }
    service_ = std::make_unique<TableService>(shards, clock_, *dice_);
  }

  std::uint64_t below(std::uint64_t bound) { return dice_->below(bound); }
  std::string random_row() { return std::to_string(below(6)); }
  std::string random_partition() { return std::string(1, static_cast<char>('p' + below(3))); }
  std::string random_table() { return kTables[below(2)]; }

  void add(std::string name, std::size_t table, std::vector<std::string> properties, std::uint64_t max_changes) {
    FollowerModel follower;
    follower.table = table;
    follower.following = following_of(std::move(name), std::move(properties));
    follower.following.max_changes = max_changes;
    begin_anew(follower);
    followers_.push_back(std::move(follower));
  }

  void begin_anew(FollowerModel& follower) {
    const auto begun = run_task(service_->follow("acct", kTables[follower.table], follower.following, true));
    if (begun.failed_with(ErrorCode::kTableNotFound)) return;
    ASSERT_TRUE(begun.has_value());
    follower.position = follower.acknowledged = begun->position;
    follower.content = follower.acknowledged_content = tables_[follower.table].now;
  }

  Mutation random_mutation(MutationKind kind, std::string row) {
    auto out = change(kind, std::move(row));
    out.lenient = below(2) == 0;
    if (kind == kErase) {
      if (below(4) == 0) out.origin = random_origin();
      return out;
    }
    for (const auto* name : kProperties) {
      if (below(2) == 0) out.properties.push_back(text(name, std::to_string(below(5))));
    }
    if (kind != kInsertOrReplace || below(3) != 0) return out;
    out.source_version = static_cast<Version>(below(1000));
    if (below(2) == 0) out.origin = random_origin();
    return out;
  }
  Origin random_origin() { return {below(3) == 0 ? "nobody" : "first", "", std::to_string(below(2))}; }

  std::vector<Mutation> random_group(bool puts_only) {
    std::vector<Mutation> group;
    std::set<std::string> rows;
    for (auto left = 1 + below(4); left > 0; --left) {
      auto row = random_row();
      if (!rows.insert(row).second) continue;
      const auto kind = puts_only ? kInsertOrMerge : static_cast<MutationKind>(1 + below(6));
      group.push_back(random_mutation(kind, std::move(row)));
    }
    return group;
  }

  void move() {
    Move move{random_table(), random_table(), random_partition(), random_row(), below(4) == 0, {}, std::nullopt};
    if (move.source == move.destination) move.destination.clear();
    move.fence = {"op" + std::to_string(++operations_), 1, ""};
    if (below(2) == 0) move.companion = Companion{random_table(), "companions", change(kInsertOrMerge, "note")};
    static_cast<void>(run_task(service_->move_all("acct", {move})).has_value());
  }

  void mutate_all() {
    std::vector<PartitionMutations> all;
    for (const auto* partition : {"p", "q"}) all.push_back({random_table(), partition, random_group(true)});
    ASSERT_TRUE(run_task(service_->mutate_all("acct", std::move(all), std::nullopt)).has_value());
  }

  void step() {
    const auto dice = below(100);
    if (dice < 55) {
      static_cast<void>(
          run_task(service_->mutate("acct", random_table(), random_partition(), random_group(false), {})).has_value());
    } else if (dice < 60) {
      mutate_all();
    } else if (dice < 68) {
      move();
    } else if (dice < 69) {
      drop(below(2));
    } else if (dice < 75) {
      for (const auto* table : kTables) static_cast<void>(run_task(service_->create_table("acct", table)).has_value());
    } else if (dice < 80) {
      clock_.time += Ticks(static_cast<std::int64_t>(below(20'000'000)));
    } else if (dice < 81) {
      service_.reset();
      engines_.clear();
      open();
    } else {
      follower_step(followers_[below(followers_.size())]);
    }
    for (std::size_t i = 0; i < 2; ++i) look(i);
  }

  void drop(std::size_t table) {
    if (!run_task(service_->delete_table("acct", kTables[table]))) return;
    auto& drop = tables_[table].drops.emplace_back();
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) drop.shards.push_back(last_version(shard));
    tables_[table].now.clear();
  }

  void follower_step(FollowerModel& follower) {
    const auto dice = below(10);
    if (dice < 6) {
      read_page(follower);
    } else if (dice < 8) {
      const auto done = run_task(
          service_->acknowledge("acct", kTables[follower.table], follower.following.follower, follower.position));
      ASSERT_TRUE(done.has_value()) << done.error().message;
      follower.acknowledged = follower.position;
      follower.acknowledged_content = follower.content;
    } else if (dice < 9) {
      follower.position = follower.acknowledged;
      follower.content = follower.acknowledged_content;
    } else {
      static_cast<void>(
          run_task(service_->follow("acct", kTables[follower.table], follower.following, false)).has_value());
    }
  }

  std::size_t shard_of(std::size_t table, const Key& key) const {
    return placement_.of({"acct", to_lower_ascii(kTables[table]), key.first});
  }
  Version last_version(std::size_t shard) {
    const auto bytes = engines_[shard]->get(kLastVersionKey);
    return bytes && *bytes ? static_cast<Version>(*kCounterRecord.decode(**bytes)) : 0;
  }

  /// Finds out the changes of the table.
  void look(std::size_t at) {
    auto& table = tables_[at];
    Query query;
    query.table = kTables[at];
    query.sources_only = true;
    Content now;
    const auto take = [&now](const EntityView& entity) {
      now.emplace(Key(entity.partition_key, entity.row_key), entity.to_entity());
      return true;
    };
    const auto read = run_task(service_->query("acct", query, take));
    ASSERT_TRUE(read.has_value() || read.failed_with(ErrorCode::kTableNotFound));
    std::vector<Event> events;
    const auto add = [&](Version version, const Key& key, std::optional<std::string> before) {
      events.push_back({shard_of(at, key), version, key, std::move(before)});
    };
    for (const auto& [key, entity] : now) {
      const auto old = table.now.find(key);
      if (old == table.now.end()) add(entity.version, key, std::nullopt);
      if (old != table.now.end() && old->second.version != entity.version) {
        add(entity.version, key, followed(old->second));
      }
    }
    for (const auto& [key, entity] : table.now) {
      if (!now.contains(key)) add(last_version(shard_of(at, key)), key, followed(entity));
    }
    table.events.insert(table.events.end(), events.begin(), events.end());
    table.now = std::move(now);
  }

  static std::string followed(const Entity& entity) {
    return *chosen_properties(property_block(entity.properties), kFollowed);
  }

  /// Returns the keys that the follower must be told, with the entities before each change.
  std::map<Key, std::multiset<std::string>> expected(const FollowerModel& follower, const Position& through) {
    std::map<Key, std::set<std::string>> sets;
    for (const auto& event : tables_[follower.table].events) {
      if (event.version <= follower.position.of(event.shard) || event.version > through.of(event.shard)) continue;
      auto& before = sets[event.key];
      if (event.before) before.insert(*event.before);
    }
    std::map<Key, std::multiset<std::string>> out;
    for (auto& [key, before] : sets) out[key] = {before.begin(), before.end()};
    return out;
  }

  /// Reads, checks and applies a page. Returns false if there was nothing.
  bool read_page(FollowerModel& follower) {
    const auto& table = tables_[follower.table];
    const auto limit = static_cast<std::uint32_t>(1 + below(below(2) == 0 ? 4 : 1000));
    const auto page = run_task(service_->changed_entities("acct", kTables[follower.table], follower.following.follower,
                                                          follower.position, {}, limit, Duration()));
    EXPECT_TRUE(page.has_value());
    if (!page) return false;
    ++pages_;
    if (page->stale) {
      ++stale_;
      EXPECT_EQ(follower.following.follower, "second");
      begin_anew(follower);
      return false;
    }
    std::map<Key, std::multiset<std::string>> told;
    for (const auto& entity : page->entities) {
      const Key key(entity.partition_key, entity.row_key);
      EXPECT_FALSE(told.contains(key));
      auto& before = told[key];
      for (const auto& properties : entity.before) before.insert(property_block(properties));
      const auto now = table.now.find(key);
      EXPECT_EQ(entity.now.has_value(), now != table.now.end());
      if (entity.now && now != table.now.end()) EXPECT_EQ(text_of(*entity.now), text_of(now->second));
      follower.content.erase(key);
      if (entity.now) follower.content.emplace(key, *entity.now);
    }
    EXPECT_EQ(told, expected(follower, page->through));
    check_drop(follower, *page);
    follower.position = page->through;
    if (!page->more) EXPECT_TRUE(same(follower.content, table.now)) << follower.following.follower;
    return page->more;
  }

  /// Each shard reports its own drop, at most once in a page.
  void check_drop(FollowerModel& follower, const ChangesPage& page) {
    std::set<Version> told;
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      std::vector<Version> drops;
      for (const auto& drop : tables_[follower.table].drops) {
        const auto version = drop.of(shard);
        if (version > follower.position.of(shard) && version <= page.through.of(shard)) drops.push_back(version);
      }
      ASSERT_LE(drops.size(), 1U);
      if (drops.empty()) continue;
      told.insert(drops[0]);
      std::erase_if(follower.content, [&](const auto& row) {
        return shard_of(follower.table, row.first) == shard && row.second.version <= drops[0];
      });
    }
    ASSERT_EQ(told.empty(), !page.dropped);
    if (page.dropped) EXPECT_TRUE(told.contains(*page.dropped));
  }

  MakeEngine make_;
  std::unique_ptr<Random> dice_;
  StandingClock clock_;
  const shards::Placement placement_;
  std::vector<std::unique_ptr<kv::Engine>> engines_;
  std::unique_ptr<TableService> service_;
  std::array<TableHistory, 2> tables_;
  std::vector<FollowerModel> followers_;
  std::uint64_t operations_ = 0, pages_ = 0, stale_ = 0;
};

TEST(TableChangesProperty, FollowersOnTheMemoryEngineSeeEveryChange) {
  const auto seed = test_seed();
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  auto disk = kv::make_memory_disk();
  Playing([disk](std::size_t) { return kv::make_memory_engine(disk); }, seed, 1).run(test_size(5'000));
}

TEST(TableChangesProperty, FollowersOverSeveralShardsSeeEveryChange) {
  const auto seed = test_seed();
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  std::vector<std::shared_ptr<kv::MemoryDisk>> disks;
  while (disks.size() < 5) disks.push_back(kv::make_memory_disk());
  Playing([&](std::size_t shard) { return kv::make_memory_engine(disks[shard]); }, seed, disks.size())
      .run(test_size(5'000));
}

TEST(TableChangesProperty, FollowersOnRocksDbSeeEveryChange) {
  const auto seed = test_seed();
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  kv::testing::TempDir directory;
  const auto make = [&](std::size_t) {
    auto options = kv::testing::small_options(directory.path() / "db");
    options.durability = kv::Durability::kOs;
    return std::move(*kv::open_rocksdb(options));
  };
  Playing(make, seed, 1).run(test_size(1'000));
}

}  // namespace
}  // namespace tidemark::table_store
