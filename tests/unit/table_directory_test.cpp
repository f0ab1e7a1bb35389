// The memory of table generations must never give an answer that was not true at that moment.
#include "table_store/storage/table_directory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/table_fixture.h"

namespace tidemark::table_store {
namespace {

TEST(TableDirectory, FindsWhatWasRemembered) {
  TableDirectory directory;
  EXPECT_FALSE(directory.find("a"));
  directory.remember("a", 7, directory.ticket());
  EXPECT_EQ(directory.find("a"), 7U);
  EXPECT_FALSE(directory.find("b"));
}

TEST(TableDirectory, FindsNothingWhileATableIsDropped) {
  TableDirectory directory;
  directory.remember("a", 7, directory.ticket());
  directory.remember("b", 8, directory.ticket());
  {
    const TableDirectory::Drop drop(directory, "a");
    EXPECT_FALSE(directory.find("a"));
    EXPECT_FALSE(directory.find("b"));  // not told apart: drops are rare and short
    directory.remember("a", 7, directory.ticket());
  }
  EXPECT_FALSE(directory.find("a"));
  EXPECT_EQ(directory.find("b"), 8U);
}

TEST(TableDirectory, AReaderThatBeganBeforeADropCannotBringTheOldGenerationBack) {
  TableDirectory directory;
  const auto ticket = directory.ticket();  // the reader looks at the database now...
  {
    const TableDirectory::Drop drop(directory, "a");
  }
  directory.remember("a", 7, ticket);  // ...and tells late what it saw
  EXPECT_FALSE(directory.find("a"));
  directory.remember("a", 9, directory.ticket());
  EXPECT_EQ(directory.find("a"), 9U);
}

TEST(TableDirectory, ForgetsRatherThanGrowWithoutBound) {
  TableDirectory directory;
  for (std::uint64_t i = 0; i < 20'000; ++i) directory.remember(std::to_string(i), i, directory.ticket());
  EXPECT_FALSE(directory.find("0"));
  EXPECT_EQ(directory.find("19999"), 19'999U);
}

// Once a drop is acknowledged nobody reads the dropped table, although readers race with it all the time.
TEST(TableDirectory, NoReadSeesADroppedTableAfterItsDropWasAcknowledged) {
  TableDirectory directory;
  std::atomic<std::uint64_t> stored{1};        // the table's row in "the database"
  std::atomic<std::uint64_t> acknowledged{1};  // no generation below this may be seen any more
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  auto read = [&] {
    while (!done.load()) {
      const auto least = acknowledged.load();
      auto seen = directory.find("t");
      if (!seen) {
        const auto ticket = directory.ticket();
        seen = stored.load();
        directory.remember("t", *seen, ticket);
      }
      if (*seen < least) wrong.fetch_add(1);
    }
  };
  std::thread one(read), two(read);
  for (std::uint64_t generation = 2; generation < 3000; ++generation) {
    {
      const TableDirectory::Drop drop(directory, "t");
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
