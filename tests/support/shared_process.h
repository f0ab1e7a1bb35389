// Two processes that share the shards of a store, both in this one, each with everything that a process has around its
// service. They need a PostgreSQL; without one the test is skipped.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "common/base/log.h"
#include "common/postgres/shard_owners.h"
#include "common/rpc/zmq_transport.h"
#include "common/shards/shard_router.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_postgres.h"

namespace tidemark::testing {

inline constexpr std::size_t kSharedShards = 4;
inline const shards::Placement kSharedPlacement(kSharedShards, shards::Placement::Key{1, 2, 3});

/// `Store` has the type of the service, `dispatch(service)` and `undelivered(dispatch)`, as the program has them.
template <class Store>
class SharedProcess {
 public:
  SharedProcess(kv::PostgresOptions options, const std::string& name, const std::string& directory, std::uint64_t seed)
      : random_(seed),
        owners_(std::move(kv::ShardOwners::open(std::move(options), name, kSharedShards).value())),
        engines_(owners_->make_engines()),
        router_(*owners_, *clock_, io_.get_executor(), [](const auto& address) { return rpc::connect(address); }),
        service_(shards(), *clock_, random_),
        endpoint_("ipc://" + directory + "/" + name) {
    const auto dispatch = router_.around(Store::dispatch(service_));
    const rpc::ServerOptions listening{.endpoint = endpoint_, .undelivered = Store::undelivered(dispatch)};
    server_ = std::move(rpc::serve(listening, io_.get_executor(), dispatch).value());
    const auto gained = [this]([[maybe_unused]] std::size_t shard) {
      if constexpr (requires { service_.gained(shard); }) {
        asio::co_spawn(io_, service_.gained(shard), asio::detached);
      }
    };
    owners_
        ->start(endpoint_, {.gained = gained,
                            .lost = [this](auto shard) { service_.lost(shard); },
                            .seen = [this] { router_.seen(); },
                            .moved = [this] { router_.moved(); }})
        .value();
    link_ = rpc::connect(endpoint_);
  }
  ~SharedProcess() {
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
  SharedProcess(const SharedProcess&) = delete;
  SharedProcess& operator=(const SharedProcess&) = delete;

  template <class T>
  T run(Task<T> task) {
    return start(std::move(task)).get();
  }
  template <class T>
  std::future<T> start(Task<T> task) {
    return asio::co_spawn(io_, std::move(task), asio::use_future);
  }
  [[nodiscard]] rpc::Transport& link() { return *link_; }
  [[nodiscard]] typename Store::Service& service() { return service_; }
  [[nodiscard]] bool here(std::size_t shard) const { return router_.here(shard); }
  [[nodiscard]] std::size_t served() const {
    std::size_t count = 0;
    for (std::size_t shard = 0; shard < kSharedShards; ++shard) count += here(shard) ? 1 : 0;
    return count;
  }

 private:
  shards::Shards shards() {
    shards::Shards all{{}, kSharedPlacement, &router_};
    for (const auto& engine : engines_) all.all.push_back({*engine, *clock_});
    return all;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  SeededRandom random_;
  const std::unique_ptr<kv::ShardOwners> owners_;
  const std::vector<std::unique_ptr<kv::ClaimedEngine>> engines_;
  shards::ShardRouter router_;
  typename Store::Service service_;
  const std::string endpoint_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Transport> link_;
  std::thread thread_{[this] { io_.run(); }};
};

template <class Store>
class SharedProcesses : public ::testing::Test {
 protected:
  using Process = SharedProcess<Store>;

  void SetUp() override {
    auto* const server = TemporaryPostgres::shared();
    if (server == nullptr) GTEST_SKIP() << TemporaryPostgres::kAbsent;
    set_log_level(LogLevel::kWarning);
    auto name = (std::filesystem::temp_directory_path() / "tidemark-owners-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    kv::PostgresOptions options;
    options.url = server->url();
    options.schema = server->new_schema();
    options.lease = std::chrono::seconds(6);
    one_ = std::make_unique<Process>(options, "one", directory_, 1);
    two_ = std::make_unique<Process>(options, "two", directory_, 2);
    ASSERT_TRUE(eventually([&] { return one_->served() == 2 && two_->served() == 2; }));
    prepare();
  }
  /// Runs once each of the two serves two shards.
  virtual void prepare() {}
  void TearDown() override {
    two_.reset();
    one_.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  template <class Condition>
  static bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  [[nodiscard]] std::vector<Process*> both() const { return {one_.get(), two_.get()}; }

  std::string directory_;
  std::unique_ptr<Process> one_, two_;
};

}  // namespace tidemark::testing
