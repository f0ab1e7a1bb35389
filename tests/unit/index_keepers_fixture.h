// Keepers of indexes on stores in memory.
#pragma once
#include "workers/indexes/keeper.h"
#include "workers_fixture.h"

namespace tidemark::workers {

using indexes::Index;

class IndexKeepersFixture : public WorkersFixture {
 protected:
  void TearDown() override {
    for (auto& keeper : keepers_) run_beside(keeper->stop());
    drive_until([&] { return true; });
  }

  /// Like run(), while the owners go on.
  template <class T>
  T run_beside(Task<T> task) {
    auto future = asio::co_spawn(io_, std::move(task), asio::use_future);
    drive_until([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    return future.get();
  }
  void drive_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "what was waited for did not come";
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
  }

  IndexServices index_services() { return {tables_, store_, jobs_, *clock_, *random_, &blobs_}; }
  Index declare(const std::string& name, const char* text) {
    const auto definition = indexes::parse_definition(std::string_view(text));
    EXPECT_TRUE(definition.has_value()) << definition.error().message;
    auto stored = run_beside(store_.put(name, *definition));
    EXPECT_TRUE(stored.has_value()) << stored.error().message;
    return stored->index;
  }
  std::shared_ptr<IndexKeeper> start_keeper(const std::string& worker) {
    using std::chrono::milliseconds;
    KeeperOptions options{
        .worker = worker, .poll = milliseconds(5), .beat = milliseconds(10), .lost_after = milliseconds(200)};
    auto keeper = IndexKeeper::create(options, index_services());
    keeper->start(io_.get_executor());
    keepers_.push_back(keeper);
    return keeper;
  }
  indexes::Progress progress(const Index& index) {
    auto read = run_beside(store_.progress(index.id));
    EXPECT_TRUE(read.has_value());
    return read && *read ? **read : indexes::Progress{};
  }
  void ask(const std::string& name, indexes::IndexStore::Wish wish) {
    auto asked = run_beside(store_.ask(name, wish));
    ASSERT_TRUE(asked.has_value()) << asked.error().message;
  }

  void write(Mutation mutation, const std::string& partition, const std::string& table = "Source") {
    auto done = run_beside(tables_.mutate(table, partition, {std::move(mutation)}, std::nullopt));
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  std::vector<Entity> rows_in(const std::string& table) {
    std::vector<Entity> out;
    table_store::QueryRequest request;
    request.table = table;
    do {
      auto page = run_beside(tables_.query(request));
      if (!page) {
        EXPECT_EQ(page.error().code, ErrorCode::kTableNotFound);
        break;
      }
      for (auto& row : page->entities) out.push_back(std::move(row));
      request.continuation = page->continuation;
    } while (!request.continuation.empty());
    return out;
  }
  bool caught_up(const Index& index) {
    for (const auto& table : {index.definition.entities(), index.definition.referred()}) {
      if (table.empty()) continue;
      const auto statuses = run_beside(tables_.followers(table));
      EXPECT_TRUE(statuses.has_value());
      const auto own =
          std::ranges::find(*statuses, index.id, [](const auto& status) { return status.following.follower; });
      if (own == statuses->end() || own->oldest || own->stale) return false;
    }
    return true;
  }
  void wait_until_ready(const Index& index) {
    drive_until([&] { return progress(index).state == indexes::kReady && caught_up(index); });
  }

  indexes::IndexStore store_{tables_, *clock_, *random_};
  std::vector<std::shared_ptr<IndexKeeper>> keepers_;
};

}  // namespace tidemark::workers
