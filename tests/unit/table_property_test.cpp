// Random sequences of operations on the table store and on a plain model of it (table_reference.h); every answer must
// be the same (tests/support/environment.h tells how to repeat a run or make it longer). A failure prints its seed and
// the shortest sequence found that fails.
#include <iostream>
#include <sstream>

#include "common/base/encoding.h"
#include "kv_test_support.h"
#include "table_fixture.h"
#include "table_random_filter.h"
#include "table_store/storage/table_check.h"
#include "tests/support/damage.h"
#include "tests/support/environment.h"
#include "tests/support/seeded_random.h"

namespace tidemark::table_store {
namespace {

using reference::random_filter;
using reference::random_partition;
using reference::random_property;
using reference::random_row;
using reference::RandomFilter;

enum class Condition { kNone, kCurrent, kStale };

struct Change {
  Mutation mutation;
  Condition condition = Condition::kNone;
};

/// One operation as plain data, so that a sequence can be cut and run again.
struct Operation {
  enum class Kind { kMutate, kGet, kQuery, kNextPage, kCreate, kDrop, kClock, kReopen };
  Kind kind = Kind::kGet;
  std::string table, pk, rk;
  std::vector<Change> changes;
  RandomFilter filter;
  std::uint32_t top = 1000;
  std::size_t pages = 1;
  std::size_t stop_after = 0;  // entities until the page is full by bytes; 0: never
  std::int64_t ticks = 0;
};

Change random_change(Random& random) {
  Change out;
  auto& mutation = out.mutation;
  mutation.kind = static_cast<MutationKind>(1 + random.below(6));
  mutation.row_key = random.below(200) == 0 ? "bad/key" : random_row(random);
  mutation.lenient = random.below(6) == 0;
  using enum MutationKind;
  if (mutation.kind == kReplace || mutation.kind == kMerge || mutation.kind == kErase) {
    out.condition = static_cast<Condition>(random.below(12) == 0 ? 2 : random.below(2));
  }
  if (mutation.kind == kErase) return out;
  if (mutation.kind == kInsertOrReplace && random.below(4) == 0) {
    mutation.source_version = static_cast<Version>(random.below(4)) * 1000;
  }
  for (auto n = random.below(5); n > 0; --n) {
    auto property = random_property(random);
    const auto same = [&](const Property& other) { return other.name == property.name; };
    if (std::none_of(mutation.properties.begin(), mutation.properties.end(), same)) {
      mutation.properties.push_back(std::move(property));
    }
  }
  return out;
}

Operation random_operation(Random& random, bool may_reopen) {
  using enum Operation::Kind;
  Operation op;
  op.table = std::string("table") + static_cast<char>('A' + random.below(3));
  const auto dice = random.below(1000);
  if (dice < 560) {
    op.kind = kMutate;
    op.pk = random.below(400) == 0 ? "#" : random_partition(random);
    const auto size = random.below(3) != 0 ? 1 : random.below(300) == 0 ? 101 : 1 + random.below(7);
    for (std::uint64_t i = 0; i < size; ++i) op.changes.push_back(random_change(random));
  } else if (dice < 760) {
    op.kind = kGet;
    op.pk = random_partition(random);
    op.rk = random_row(random);
  } else if (dice < 900) {
    op.kind = kQuery;
    op.filter = random.below(10) == 0 ? RandomFilter{"", [](const reference::Row&) { return true; }}
                                      : random_filter(random, static_cast<int>(random.below(4)));
    op.top = random.below(3) == 0 ? 1000 : static_cast<std::uint32_t>(1 + random.below(9));
    op.pages = random.below(3) == 0 ? 1 : 1000;
    op.stop_after = random.below(5) == 0 ? 1 + random.below(4) : 0;
  } else if (dice < 960) {
    op.kind = kNextPage;
  } else if (dice < 988) {
    op.kind = kClock;
    op.ticks = static_cast<std::int64_t>(random.below(2000)) - 1000;
  } else if (dice < 996) {
    op.kind = kCreate;
  } else if (dice < 999 || !may_reopen) {
    op.kind = kDrop;
  } else {
    op.kind = kReopen;
  }
  return op;
}

std::string describe(const Operation& op) {
  static constexpr const char* kNames[] = {"mutate", "get", "query", "next page", "create", "drop", "clock", "reopen"};
  static constexpr const char* kKinds[] = {"?",    "insert", "replace", "merge", "insert-or-replace", "insert-or-merge",
                                           "erase"};
  std::ostringstream out;
  out << kNames[static_cast<std::size_t>(op.kind)] << " " << op.table << " pk='" << op.pk << "' rk='" << op.rk << "'";
  if (op.kind == Operation::Kind::kQuery)
    out << " top=" << op.top << " stop=" << op.stop_after << " " << op.filter.text;
  if (op.kind == Operation::Kind::kClock) out << " " << op.ticks;
  for (const auto& change : op.changes) {
    out << "\n    " << kKinds[static_cast<std::size_t>(change.mutation.kind)] << " '" << change.mutation.row_key
        << "' condition=" << static_cast<int>(change.condition) << (change.mutation.lenient ? " lenient" : "");
    if (change.mutation.source_version) out << " source=" << *change.mutation.source_version;
    for (const auto& property : change.mutation.properties)
      out << " " << property.name << ":" << property.value.index();
  }
  return out.str();
}

/// Compares bit by bit, so NaN equals itself.
bool is_same(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

bool same_row(const Entity& entity, const reference::Row& row) {
  return entity.partition_key == row.partition_key && entity.row_key == row.row_key && entity.version == row.version &&
         entity.source_version == row.source_version &&
         std::equal(entity.properties.begin(), entity.properties.end(), row.properties.begin(), row.properties.end(),
                    [](const Property& a, const Property& b) { return a.name == b.name && is_same(a.value, b.value); });
}

/// The store under test beside the model. Every step returns a description of the difference, empty if there is none.
class Pair {
 public:
  using MakeEngine = std::function<std::unique_ptr<kv::Engine>(std::size_t shard)>;
  explicit Pair(MakeEngine make, std::size_t shards = 1) : make_(std::move(make)), placement_(shards, {3, 1, 4}) {
    open();
  }

  std::string step(const Operation& op) {
    using enum Operation::Kind;
    switch (op.kind) {
      case kMutate:
        return mutate(op);
      case kGet:
        return get(op);
      case kQuery:
        held_.reset();
        return query(op, std::nullopt);
      case kNextPage:
        return held_ ? next_page() : "";
      case kCreate:
        return outcome(run_task(service_->create_table("acct", op.table)), model_.create(op.table));
      case kDrop:
        return outcome(run_task(service_->delete_table("acct", op.table)), model_.drop(op.table));
      case kClock:
        clock_.time += Ticks(op.ticks);
        return "";
      case kReopen:
        service_.reset();
        engines_.clear();
        open();
        return "";
    }
    return "";
  }
  /// Returns the findings of a check of all rows.
  std::vector<std::string> check() {
    std::vector<const kv::Engine*> engines;
    for (const auto& engine : engines_) engines.push_back(engine.get());
    kv::CheckRun run;
    EXPECT_TRUE(check_tables(engines, placement_, run));
    return kv::told(run.report());
  }

 private:
  struct Held {
    Operation op;
    Continuation from;
  };

  void open() {
    shards::Shards shards{{}, placement_};
    for (std::size_t shard = 0; shard < placement_.shards(); ++shard) {
      shards.all.push_back({*engines_.emplace_back(make_(shard)), clock_});
    }
    service_ = std::make_unique<TableService>(shards, clock_, *random_);
    EXPECT_TRUE(run_task(service_->finish_drops()));
  }

  template <class Answered>
  static std::string outcome(const Answered& got, const reference::Expected& expected) {
    if (got.has_value() != !expected.error) {
      return got ? "succeeded, should fail with " + std::string(azure_name_of(*expected.error))
                 : "failed with " + std::string(azure_name_of(got.error().code));
    }
    if (got) return "";
    if (got.error().code != *expected.error) return "failed with " + std::string(azure_name_of(got.error().code));
    std::optional<std::size_t> index;
    if constexpr (requires { got.error().index; }) index = got.error().index;
    return index == expected.index ? "" : "the wrong mutation is named as the failing one";
  }

  std::string mutate(const Operation& op) {
    std::vector<Mutation> mutations;
    for (const auto& change : op.changes) {
      mutations.push_back(change.mutation);
      const auto* row = model_.find(op.table, op.pk, change.mutation.row_key);
      if (change.condition == Condition::kNone) continue;
      mutations.back().if_version =
          (row == nullptr ? 1 : row->version) - (change.condition == Condition::kStale ? 1 : 0);
    }
    const auto now = clock_.time.time_since_epoch().count();
    auto expected = model_.mutate(op.table, op.pk, mutations, now);
    auto got = run_task(service_->mutate("acct", op.table, op.pk, std::move(mutations), std::nullopt));
    if (auto wrong = outcome(got, expected); !wrong.empty() || !got) return wrong;
    const auto same = [](const MutationOutcome& a, const MutationOutcome& b) {
      return a.kind == b.kind && a.version == b.version && a.source_version == b.source_version;
    };
    const bool equal = std::equal(got->outcomes.begin(), got->outcomes.end(), expected.outcomes.begin(),
                                  expected.outcomes.end(), same);
    return equal ? "" : "other outcomes or versions than expected";
  }

  std::string get(const Operation& op) {
    const auto got = service_->get("acct", op.table, op.pk, op.rk);
    if (model_.rows(op.table) == nullptr) {
      return got.failed_with(ErrorCode::kTableNotFound) ? "" : "a get from a table that is not there";
    }
    if (!got) return "a get failed";
    const auto* row = model_.find(op.table, op.pk, op.rk);
    if (got->has_value() != (row != nullptr)) return "an entity is there and should not be, or the reverse";
    return row == nullptr || same_row(**got, *row) ? "" : "an entity is not as it was written";
  }

  /// Reads as many pages as the operation wants, each compared with the model's rows from the continuation on.
  std::string query(const Operation& op, std::optional<Continuation> from) {
    for (std::size_t page = 0; page < op.pages; ++page) {
      std::optional<Continuation> next;
      if (auto wrong = one_page(op, from, next); !wrong.empty()) return wrong;
      if (!next) {
        held_.reset();
        return "";
      }
      from = next;
      held_ = Held{op, *next};
    }
    return "";
  }

  std::string next_page() {
    auto held = *held_;
    held.op.pages = 1;
    return query(held.op, held.from);
  }

  std::string one_page(const Operation& op, const std::optional<Continuation>& from,
                       std::optional<Continuation>& next) {
    Query query;
    query.table = op.table;
    auto filter = Filter::parse(op.filter.text);
    if (!filter) return "the filter is refused: " + filter.error().message;
    query.filter = *filter;
    query.top = op.top;
    query.from = from;
    std::vector<Entity> got;
    auto result = run_task(service_->query("acct", query, [&](const EntityView& entity) {
      got.push_back(entity.to_entity());
      return op.stop_after == 0 || got.size() < op.stop_after;
    }));
    const auto* rows = model_.rows(op.table);
    if (rows == nullptr)
      return result.failed_with(ErrorCode::kTableNotFound) ? "" : "a query of a table that is not there";
    if (!result) return "a query failed";
    if (result->count != got.size()) return "the count is not the number of entities";
    next = result->next;
    return compare(op, *filter, *rows, from, got, next);
  }

  static reference::Key key_of(const Continuation& at) {
    return {reference::units_of(at.partition_key), reference::units_of(at.row_key)};
  }

  static std::string compare(const Operation& op, const Filter& filter, const reference::Rows& rows,
                             const std::optional<Continuation>& from, const std::vector<Entity>& got,
                             const std::optional<Continuation>& next) {
    const std::size_t limit = op.stop_after == 0 ? op.top : std::min<std::size_t>(op.top, op.stop_after);
    auto at = from ? rows.lower_bound(key_of(*from)) : rows.begin();
    std::size_t seen = 0;
    for (; at != rows.end(); ++at) {
      const bool matches = op.filter.matches(at->second);
      Entity entity;
      entity.partition_key = at->second.partition_key;
      entity.row_key = at->second.row_key;
      entity.properties = at->second.properties;
      if (filter.matches(entity) != matches) return "the filter and its predicate disagree";
      if (!matches) continue;
      if (seen == limit) break;
      if (seen == got.size()) return "an entity is missing from the page";
      if (!same_row(got[seen], at->second)) return "another entity or another order than expected";
      ++seen;
    }
    if (got.size() > seen) return "too many entities";
    if (!next) return at == rows.end() ? "" : "the continuation is missing";
    if (at != rows.end() && key_of(*next) > at->first) return "the continuation skips an entity";
    if (got.empty()) return "an empty page says that there is more";
    const Continuation last{got.back().partition_key, got.back().row_key};
    return key_of(*next) > key_of(last) ? "" : "the continuation repeats an entity";
  }

  MakeEngine make_;
  StandingClock clock_;
  std::unique_ptr<Random> random_ = make_seeded_random(1);
  const shards::Placement placement_;
  std::vector<std::unique_ptr<kv::Engine>> engines_;
  std::unique_ptr<TableService> service_;
  reference::Store model_{[this](const std::string& table, const std::string& partition_key) {
    return placement_.of({"acct", to_lower_ascii(table), partition_key});
  }};
  std::optional<Held> held_;
};

using Sequence = std::vector<Operation>;

struct Failure {
  std::size_t at = 0;
  std::string what;
};

using MakePair = std::function<std::unique_ptr<Pair>()>;

std::optional<Failure> run(const MakePair& make, const Sequence& sequence) {
  const auto pair = make();
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (auto wrong = pair->step(sequence[i]); !wrong.empty()) return Failure{i, std::move(wrong)};
  }
  if (const auto found = pair->check(); !found.empty()) return Failure{sequence.size() - 1, found.front()};
  return std::nullopt;
}

/// Leaves out ever smaller pieces as long as the rest still fails.
Sequence shrink(const MakePair& make, Sequence sequence, Failure& failure) {
  constexpr int kMaxTrials = 2000;
  sequence.resize(failure.at + 1);
  int trials = 0;
  for (std::size_t piece = sequence.size() / 2; piece > 0 && trials < kMaxTrials; piece /= 2) {
    for (std::size_t from = 0; from + piece < sequence.size() && trials < kMaxTrials; ++trials) {
      Sequence shorter = sequence;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(from),
                    shorter.begin() + static_cast<std::ptrdiff_t>(from + piece));
      if (auto still = run(make, shorter)) {
        failure = *still;
        shorter.resize(still->at + 1);
        sequence = std::move(shorter);
      } else {
        from += piece;
      }
    }
  }
  return sequence;
}

void check_random_sequences(const MakePair& make, std::uint64_t seed, std::size_t length, bool may_reopen) {
  const auto random = make_seeded_random(seed);
  Sequence sequence;
  for (const char* table : {"tableA", "tableB"}) {
    sequence.emplace_back();
    sequence.back().kind = Operation::Kind::kCreate;
    sequence.back().table = table;
  }
  while (sequence.size() < length) sequence.push_back(random_operation(*random, may_reopen));
  auto failure = run(make, sequence);
  if (!failure) return;
  std::ostringstream report;
  report << "TIDEMARK_SEED=" << seed << ": operation " << failure->at << ": " << failure->what
         << "\nThe shortest sequence found:\n";
  for (const auto& op : shrink(make, sequence, *failure)) report << "  " << describe(op) << "\n";
  ADD_FAILURE() << report.str() << "  " << failure->what;
}

TEST(TableProperty, MemoryEngineBehavesAsTheModel) {
  const MakePair make = [] {
    auto disk = kv::make_memory_disk();
    return std::make_unique<Pair>([disk](std::size_t) { return kv::make_memory_engine(disk); });
  };
  const auto seed = test_seed();
  const auto length = test_size(10'000);
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  check_random_sequences(make, seed, length, true);
}

TEST(TableProperty, EightShardsBehaveAsTheModel) {
  static constexpr std::size_t kShards = 8;
  const MakePair make = [] {
    std::vector<std::shared_ptr<kv::MemoryDisk>> disks;
    while (disks.size() < kShards) disks.push_back(kv::make_memory_disk());
    return std::make_unique<Pair>([disks](std::size_t shard) { return kv::make_memory_engine(disks[shard]); }, kShards);
  };
  const auto seed = test_seed();
  const auto length = test_size(4'000);
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  check_random_sequences(make, seed, length, true);
}

TEST(TableProperty, RocksDbBehavesAsTheModel) {
  kv::testing::TempDir directory;
  int runs = 0;
  const MakePair make = [&] {
    auto options = kv::testing::small_options(directory.path() / std::to_string(++runs));
    options.durability = kv::Durability::kOs;
    return std::make_unique<Pair>([options](std::size_t) { return std::move(*kv::open_rocksdb(options)); });
  };
  const auto seed = test_seed();
  const auto length = test_size(2'000);
  std::cout << "TIDEMARK_SEED=" << seed << "\n";
  check_random_sequences(make, seed, length, true);
}

/// Tests the machinery itself: a forgetful store is detected, and the sequence is cut to the operations that matter.
TEST(TableProperty, AStoreThatForgetsIsNoticed) {
  const MakePair make = [] {
    return std::make_unique<Pair>([](std::size_t) { return kv::make_memory_engine(); });  // a new disk
  };
  const auto random = make_seeded_random(5);
  Sequence sequence(1);
  sequence[0].kind = Operation::Kind::kCreate;
  sequence[0].table = "tableA";
  for (int i = 0; i < 300; ++i) sequence.push_back(random_operation(*random, false));
  sequence.emplace_back();
  sequence.back().kind = Operation::Kind::kReopen;
  for (int i = 0; i < 100; ++i) sequence.push_back(random_operation(*random, false));
  auto failure = run(make, sequence);
  ASSERT_TRUE(failure);
  EXPECT_LE(shrink(make, sequence, *failure).size(), 4U);
}

/// Timestamps, and so ETags, of one entity only rise, even if the clock is set back.
TEST(TableProperty, VersionsRiseUnderAnyClock) {
  auto disk = kv::make_memory_disk();
  auto engine = kv::make_memory_engine(disk);
  StandingClock clock;
  const auto random = make_seeded_random(9);
  auto service = std::make_unique<TableService>(*engine, clock, *random);
  ASSERT_TRUE(run_task(service->create_table("acct", "people")));
  std::map<std::string, Version> last;
  Version last_of_all = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto rk = std::to_string(random->below(5));
    auto task = service->mutate("acct", "people", "p", {change(MutationKind::kInsertOrMerge, rk)}, std::nullopt);
    const auto done = run_task(std::move(task));
    ASSERT_TRUE(done);
    const auto version = done->outcomes.front().version;
    ASSERT_GT(version, last[rk]);
    ASSERT_GT(version, last_of_all);
    last[rk] = last_of_all = version;
    const auto stored = service->get("acct", "people", "p", rk);
    ASSERT_TRUE(stored && *stored);
    ASSERT_EQ((*stored)->version, version);
    switch (random->below(6)) {
      case 0:  // the clock stands still
        break;
      case 1:
        clock.time -= std::chrono::hours(24 * random->below(400));
        break;
      case 2:
        clock.time += std::chrono::seconds(random->below(10));
        break;
      case 3:  // a restart with the clock set back
        clock.time = Time(Ticks(static_cast<std::int64_t>(random->below(1000))));
        service.reset();
        engine = kv::make_memory_engine(disk);
        service = std::make_unique<TableService>(*engine, clock, *random);
        break;
      default:
        clock.time += Ticks(1);
        break;
    }
  }
}

}  // namespace
}  // namespace tidemark::table_store
