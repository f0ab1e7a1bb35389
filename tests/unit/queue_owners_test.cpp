// Two processes that share the shards of the queues, both in this one: whatever a worker asks of either of them is done
// by the one that has the queue, and what spans shards of both is whole.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/kv/shard_owners.h"
#include "common/rpc/forwarded.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/shard_router.h"
#include "queue_service/client/queue_client.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/internal/queue_owners.h"
#include "queue_service/storage/queue_service.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_postgres.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

constexpr std::size_t kShards = 4;
const kv::Placement kPlacement(kShards, kv::Placement::Key{1, 2, 3});

/// One of them, with everything that a process has around its queue service.
class Process {
 public:
  Process(kv::PostgresOptions options, const std::string& name, const std::string& directory, std::uint64_t seed)
      : random_(seed),
        owners_(std::move(kv::ShardOwners::open(std::move(options), name, kShards).value())),
        engines_(owners_->make_engines()),
        router_(*owners_, *clock_, io_.get_executor(), [](const auto& address) { return rpc::connect(address); }),
        service_(shards(), *clock_, random_),
        others_(router_, [this](auto account, auto queue) { return service_.shard_of(account, queue); }),
        endpoint_("ipc://" + directory + "/" + name) {
    service_.share_with(others_);
    const auto place_of = [this](auto method, auto payload) -> std::optional<service::CallPlace> {
      const auto found = shard_of_call(service_, method, payload);
      return found ? std::optional(service::CallPlace{found->shard, found->longest}) : std::nullopt;
    };
    const auto dispatch = router_.around(make_queue_dispatch(service_), place_of);
    const rpc::ServerOptions listening{.endpoint = endpoint_, .undelivered = make_undelivered_hook(dispatch)};
    server_ = std::move(rpc::serve(listening, io_.get_executor(), dispatch).value());
    owners_
        ->start(endpoint_, {.lost = [this](auto shard) { service_.lost(shard); },
                            .seen = [this] { router_.seen(); },
                            .moved = [this] { router_.moved(); }})
        .value();
    link_ = rpc::connect(endpoint_);
  }
  ~Process() {
    service_.begin_shutdown();
    server_->stop();
    guard_.reset();
    io_.stop();
    thread_.join();
    owners_->stop();
    router_.close();
    link_.reset();
    server_.reset();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class T>
  T run(Task<T> task) {
    return asio::co_spawn(io_, std::move(task), asio::use_future).get();
  }
  std::future<Result<std::optional<Message>>> receive_later(QueueClient& client, const std::string& queue) {
    return asio::co_spawn(io_, client.receive(queue, seconds(30), seconds(20)), asio::use_future);
  }
  [[nodiscard]] rpc::Transport& link() { return *link_; }
  [[nodiscard]] bool here(std::size_t shard) const { return router_.here(shard); }
  [[nodiscard]] std::size_t waiters() const { return service_.waiters(); }
  [[nodiscard]] std::size_t served() const {
    std::size_t count = 0;
    for (std::size_t shard = 0; shard < kShards; ++shard) count += here(shard) ? 1 : 0;
    return count;
  }

 private:
  kv::Shards shards() {
    kv::Shards all{{}, kPlacement};
    for (const auto& engine : engines_) all.all.push_back({*engine, *clock_});
    return all;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  SeededRandom random_;
  const std::unique_ptr<kv::ShardOwners> owners_;
  const std::vector<std::unique_ptr<kv::ClaimedEngine>> engines_;
  service::ShardRouter router_;
  QueueService service_;
  QueueOwners others_;
  const std::string endpoint_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Transport> link_;
  std::thread thread_{[this] { io_.run(); }};
};

class QueueOwnersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto* const server = testing::TemporaryPostgres::shared();
    if (server == nullptr) GTEST_SKIP() << testing::TemporaryPostgres::kAbsent;
    spdlog::set_level(spdlog::level::warn);
    auto name = (std::filesystem::temp_directory_path() / "tidemark-owners-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    kv::PostgresOptions options;
    options.url = server->url();
    options.schema = server->new_schema();
    options.lease = 6'000ms;
    one_ = std::make_unique<Process>(options, "one", directory_, 1);
    two_ = std::make_unique<Process>(options, "two", directory_, 2);
    ASSERT_TRUE(eventually([&] { return one_->served() == 2 && two_->served() == 2; }));
    for (int i = 0; names_.size() < kShards; ++i) {
      const auto queue = "queue-" + std::to_string(i);
      names_.try_emplace(kPlacement.of({"acc", queue}), queue);
    }
  }
  void TearDown() override {
    two_.reset();
    one_.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  template <class Condition>
  static bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  /// A queue of the process, and one of the other.
  const std::string& queue_of(const Process& process) {
    for (const auto& [shard, name] : names_) {
      if (process.here(shard)) return name;
    }
    throw std::runtime_error("it serves nothing");
  }

  std::string directory_;
  std::unique_ptr<Process> one_, two_;
  std::map<std::size_t, std::string> names_;
};

TEST_F(QueueOwnersTest, EveryCallGoesToWhoeverHasTheQueue) {
  for (auto* process : {one_.get(), two_.get()}) {
    QueueClient client(process->link(), "acc");
    for (const auto& [shard, queue] : names_) {
      ASSERT_TRUE(process->run(client.ensure_queue(queue)));
      ASSERT_TRUE(process->run(client.put(queue, "a", Duration::zero())));
      ASSERT_TRUE(process->run(client.put(queue, "b", Duration::zero())));
      auto taken = process->run(client.receive(queue, seconds(30), Duration::zero()));
      ASSERT_TRUE(taken && *taken);
      EXPECT_EQ((*taken)->text, "a");
      EXPECT_TRUE(process->run(client.renew(lease_of(queue, **taken), seconds(60), "note")));
      EXPECT_TRUE(process->run(client.release(lease_of(queue, **taken), Duration::zero(), "", false)));
      auto both = process->run(client.receive_some(queue, seconds(30), 10));
      ASSERT_TRUE(both);
      ASSERT_EQ(both->size(), 2U);
      EXPECT_TRUE(process->run(client.move(lease_of(queue, both->at(0)), queue + "-poison", "")));
      EXPECT_EQ(process->run(client.complete_all({lease_of(queue, both->at(1))})).value(),
                std::vector<bool>{true});
      const auto listed = process->run(client.list(queue + "-poison", 10, ""));
      ASSERT_TRUE(listed);
      ASSERT_EQ(listed->messages.size(), 1U);
      const auto id = listed->messages.front().id;
      EXPECT_TRUE(process->run(client.find(queue + "-poison", id)).value().has_value());
      EXPECT_TRUE(process->run(client.redrive(queue + "-poison", id, queue, std::nullopt, "")));
      EXPECT_EQ(process->run(client.figures(queue))->messages, 1U);
      EXPECT_TRUE(process->run(client.set_paused(queue, true)));
      EXPECT_TRUE(process->run(client.receive_some(queue, seconds(30), 1))->empty());
      EXPECT_TRUE(process->run(client.set_paused(queue, false)));
      auto last = process->run(client.receive(queue, seconds(30), Duration::zero()));
      ASSERT_TRUE(last && *last);
      EXPECT_TRUE(process->run(client.complete(lease_of(queue, **last))));
    }
    EXPECT_TRUE(process->run(client.figures("no-such-queue")).failed_with(ErrorCode::kQueueNotFound));
  }
}

TEST_F(QueueOwnersTest, ListingsAndFiguresShowAllShards) {
  QueueClient maker(one_->link(), "acc");
  for (const auto& [shard, queue] : names_) {
    ASSERT_TRUE(one_->run(maker.ensure_queue(queue)));
    ASSERT_TRUE(one_->run(maker.put(queue, "text", Duration::zero())));
  }
  for (auto* process : {one_.get(), two_.get()}) {
    QueueClient client(process->link(), "acc");
    EXPECT_EQ(process->run(client.list_queues("queue-"))->size(), kShards);
    const auto figures = process->run(client.all_figures(100, ""));
    ASSERT_TRUE(figures);
    ASSERT_EQ(figures->queues.size(), kShards);
    for (const auto& [name, of_queue] : figures->queues) EXPECT_EQ(of_queue.messages, 1U) << name;
  }
}

TEST_F(QueueOwnersTest, MessagesTravelToShardsOfTheOtherProcess) {
  const auto &here = queue_of(*one_), &there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  for (const auto& queue : {here, there}) ASSERT_TRUE(one_->run(client.ensure_queue(queue)));
  for (const auto& [from, to] : {std::pair(here, there), std::pair(there, here)}) {
    ASSERT_TRUE(one_->run(client.put(from, "first", Duration::zero())));
    auto first = one_->run(client.receive(from, seconds(30), Duration::zero()));
    ASSERT_TRUE(first && *first);
    const auto ids = one_->run(client.finish(lease_of(from, **first), {{to, {.text = "follow-up"}}}));
    ASSERT_TRUE(ids);
    auto next = one_->run(client.receive(to, seconds(30), Duration::zero()));
    ASSERT_TRUE(next && *next);
    EXPECT_EQ((*next)->id, ids->front());
    ASSERT_TRUE(one_->run(client.move(lease_of(to, **next), from, "")));
    auto back = one_->run(client.receive(from, seconds(30), Duration::zero()));
    ASSERT_TRUE(back && *back);
    EXPECT_EQ((*back)->text, "follow-up");
    EXPECT_TRUE(one_->run(client.complete(lease_of(from, **back))));
  }
}

TEST_F(QueueOwnersTest, AMessageIsFoundAndWithdrawnWhereverItIs) {
  const auto &here = queue_of(*one_), &there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  for (const auto& queue : {here, there}) ASSERT_TRUE(one_->run(client.ensure_queue(queue)));
  for (const auto& queue : {here, there}) {
    const auto name = one_->run(client.put_named(queue, {.text = "text"}));
    ASSERT_TRUE(name);
    EXPECT_TRUE(one_->run(client.holds({here, there}, *name)).value());
    EXPECT_TRUE(one_->run(client.withdraw({here, there}, *name)).value());
    EXPECT_FALSE(one_->run(client.holds({here, there}, *name)).value());
    EXPECT_FALSE(one_->run(client.withdraw({here, there}, *name)).value());
  }
}

TEST_F(QueueOwnersTest, AWaitAtOneProcessHearsOfAPutAtTheOtherAndCanBeEnded) {
  const auto& there = queue_of(*two_);
  QueueClient waiting(one_->link(), "acc", "waiting");
  QueueClient putting(two_->link(), "acc");
  ASSERT_TRUE(one_->run(waiting.ensure_queue(there)));
  auto got = one_->receive_later(waiting, there);
  ASSERT_TRUE(eventually([&] { return two_->waiters() == 1; })) << "it waits where the queue is";
  ASSERT_TRUE(two_->run(putting.put(there, "news", Duration::zero())));
  EXPECT_EQ((**got.get()).text, "news");
  auto ended = one_->receive_later(waiting, there);
  ASSERT_TRUE(eventually([&] { return two_->waiters() == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  one_->run(waiting.end_waits());
  EXPECT_FALSE(ended.get()->has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
}

TEST_F(QueueOwnersTest, WhatWasPassedOnIsNotPassedOnAgain) {
  const auto& there = queue_of(*two_);
  const auto method = std::string(rpc::kForwarded) + std::string(calls::EnsureQueue::kMethod);
  const auto payload = wire::encode(calls::EnsureQueue{"acc", there});
  const auto refused = one_->run(one_->link().call(method, payload, seconds(10)));
  EXPECT_TRUE(refused.failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(one_->run(two_->link().call(method, payload, seconds(10))));
}

}  // namespace
}  // namespace tidemark::queue_service
