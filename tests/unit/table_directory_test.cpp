// The memory of table generations must never give an answer that was not true at that moment.
#include "table_store/storage/table_directory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/table_fixture.h"

namespace tidemark::table_store {
namespace {

std::optional<std::uint64_t> generation(const TableDirectory& directory, const std::string& name) {
  const auto found = directory.find(name);
  return found ? std::optional(found->generation) : std::nullopt;
}

TEST(TableDirectory, FindsWhatWasRemembered) {
  TableDirectory directory;
  EXPECT_FALSE(directory.find("a"));
  directory.remember("a", KnownTable{7}, directory.ticket());
  EXPECT_EQ(generation(directory, "a"), 7U);
  EXPECT_FALSE(directory.find("b"));
}

TEST(TableDirectory, FindsNothingWhileATableIsDropped) {
  TableDirectory directory;
  directory.remember("a", KnownTable{7}, directory.ticket());
  directory.remember("b", KnownTable{8}, directory.ticket());
  {
    const TableDirectory::Change drop(directory, "a");
    EXPECT_FALSE(directory.find("a"));
    EXPECT_FALSE(directory.find("b"));  // not distinguished: drops are rare and short
    directory.remember("a", KnownTable{7}, directory.ticket());
  }
  EXPECT_FALSE(directory.find("a"));
  EXPECT_EQ(generation(directory, "b"), 8U);
}

TEST(TableDirectory, AReaderThatBeganBeforeADropCannotBringTheOldGenerationBack) {
  TableDirectory directory;
  const auto ticket = directory.ticket();  // the reader looks at the database now...
  {
    const TableDirectory::Change drop(directory, "a");
  }
  directory.remember("a", KnownTable{7}, ticket);  // ...and reports its answer late
  EXPECT_FALSE(directory.find("a"));
  directory.remember("a", KnownTable{9}, directory.ticket());
  EXPECT_EQ(generation(directory, "a"), 9U);
}

TEST(TableDirectory, RemembersNothingFromBeforeAnotherProcessHadTheShard) {
  TableDirectory directory;
  directory.remember("a", KnownTable{7}, directory.ticket());
  const auto ticket = directory.ticket();
  directory.close();
  EXPECT_FALSE(directory.find("a"));
  directory.remember("a", KnownTable{7}, directory.ticket());
  EXPECT_FALSE(directory.find("a"));
  const auto elsewhere = directory.ticket();
  directory.open();
  for (const auto old : {ticket, elsewhere}) {
    directory.remember("a", KnownTable{7}, old);
    EXPECT_FALSE(directory.find("a"));
  }
  directory.remember("a", KnownTable{9}, directory.ticket());
  EXPECT_EQ(generation(directory, "a"), 9U);
}

TEST(TableDirectory, ForgetsRatherThanGrowWithoutBound) {
  TableDirectory directory;
  for (std::uint64_t i = 0; i < 20'000; ++i) directory.remember(std::to_string(i), KnownTable{i}, directory.ticket());
  EXPECT_FALSE(directory.find("0"));
  EXPECT_EQ(generation(directory, "19999"), 19'999U);
}

// Once a drop is acknowledged, nobody reads the dropped table, although readers race with it all the time.
TEST(TableDirectory, NoReadSeesADroppedTableAfterItsDropWasAcknowledged) {
  TableDirectory directory;
  std::atomic<std::uint64_t> stored{1};        // the table's row in "the database"
  std::atomic<std::uint64_t> acknowledged{1};  // no generation below this may be seen any more
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  auto read = [&] {
    while (!done.load()) {
      const auto least = acknowledged.load();
      auto seen = generation(directory, "t");
      if (!seen) {
        const auto ticket = directory.ticket();
        seen = stored.load();
        directory.remember("t", KnownTable{*seen}, ticket);
      }
      if (*seen < least) wrong.fetch_add(1);
    }
  };
  std::thread one(read), two(read);
  for (std::uint64_t generation = 2; generation < 3000; ++generation) {
    {
      const TableDirectory::Change drop(directory, "t");
      stored.store(generation);
    }
    acknowledged.store(generation);
  }
  done.store(true);
  one.join();
  two.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace tidemark::table_store
