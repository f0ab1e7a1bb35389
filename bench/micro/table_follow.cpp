// Measures the cost of following a table: upserts of 1 KiB, at random over 10,000 existing entities, by 64 clients at a
// time, without HTTP. Each round measures a table without a follower, one whose follower reads nothing, and one whose
// follower takes page after page; the last also measures how long a change takes to reach the follower.
//
//   table_follow DIRECTORY [SECONDS] [ROUNDS]
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <random>
#include <thread>

#include "common/base/random.h"
#include "common/kv/rocksdb_engine.h"
#include "table_store/storage/table_service.h"

namespace {

using namespace tidemark;
using namespace tidemark::table_store;

constexpr std::uint64_t kEntities = 10'000;
constexpr std::uint64_t kPerPartition = 100;
constexpr int kClients = 64;
constexpr int kThreads = 2;

template <class T>
T run_task(Task<T> task) {
  asio::io_context io;
  std::optional<T> out;
  asio::co_spawn(io, std::move(task), [&out](std::exception_ptr error, T value) {
    if (error) std::rethrow_exception(error);
    out.emplace(std::move(value));
  });
  io.run();
  return std::move(*out);
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message + " " + result.error().detail);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Bench {
  TableService& service;
  Clock& clock;
  std::string table;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> upserts{0};
  std::vector<double> delays_ms = {};  // from the write to the follower
  std::uint64_t seen = 0;

  Task<void> write(unsigned seed) {
    std::minstd_rand dice(seed);
    const std::string body(1000, 'x');
    while (!done.load()) {
      const auto entity = dice() % kEntities;
      Mutation put;
      put.kind = MutationKind::kInsertOrReplace;
      put.row_key = fmt::format("{:03}", entity % kPerPartition);
      put.properties = {{"City", std::to_string(dice() % 1000)}, {"Body", body}};
      std::vector<Mutation> puts;
      puts.push_back(std::move(put));
      auto written = co_await service.mutate("bench", table, fmt::format("{:03}", entity / kPerPartition),
                                             std::move(puts), std::nullopt);
      if (!written) std::cerr << written.error().message << "\n";
      upserts += 1;
    }
  }

  Task<void> take_pages() {
    Position position;
    while (!done.load()) {
      const auto page = must(
          co_await service.changed_entities("bench", table, "reader", position, {}, 1000, std::chrono::seconds(1)));
      const auto now = clock.now();
      for (const auto& entity : page.entities) {
        delays_ms.push_back(std::chrono::duration<double, std::milli>(now - Time(Ticks(entity.now->version))).count());
      }
      seen += page.entities.size();
      position = page.through;
      must(co_await service.acknowledge("bench", table, "reader", position));
    }
  }
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The upserts per second, and the processor time of each, which a busy machine disturbs less.
struct Speed {
  double per_second = 0, cpu_us = 0;
};

Speed measure(TableService& service, Clock& clock, std::string table, int seconds, bool reads) {
  const auto cpu = cpu_seconds();
  Bench bench{service, clock, std::move(table)};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      asio::io_context io;
      for (int i = 0; i < kClients / kThreads; ++i) {
        spawn(io.get_executor(), bench.write(static_cast<unsigned>(1000 * t + i + 1)));
      }
      if (reads && t == 0) spawn(io.get_executor(), bench.take_pages());
      io.run();
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  bench.done = true;
  for (auto& thread : threads) thread.join();
  if (reads && !bench.delays_ms.empty()) {
    std::ranges::sort(bench.delays_ms);
    const auto at = [&](double share) {
      return bench.delays_ms[static_cast<std::size_t>(share * static_cast<double>(bench.delays_ms.size() - 1))];
    };
    std::cout << fmt::format("  {} changes read, {:.1f} ms after the write, 99%: {:.1f} ms\n", bench.seen, at(0.5),
                             at(0.99));
  }
  const auto upserts = static_cast<double>(bench.upserts.load());
  return {upserts / seconds, (cpu_seconds() - cpu) * 1e6 / upserts};
}

void follow(TableService& service, const std::string& table, const std::string& name) {
  Following following;
  following.follower = name;
  following.properties = {"City"};
  following.max_changes = UINT64_MAX;
  following.max_bytes = UINT64_MAX;
  must(run_task(service.follow("bench", table, following, true)));
}

void run(const std::string& directory, int seconds, int rounds) {
  kv::RocksDbOptions options;
  options.path = directory;
  const auto engine = must(kv::open_rocksdb(options));
  const auto clock = make_system_clock();
  const auto random = make_system_random();
  TableService service(*engine, *clock, *random);
  for (const auto* table : {"plain", "followed", "readby"}) {
    static_cast<void>(run_task(service.create_table("bench", table)).has_value());
    measure(service, *clock, table, 1, false);
  }
  follow(service, "followed", "idle");
  follow(service, "readby", "reader");
  for (int round = 0; round < rounds; ++round) {
    const auto plain = measure(service, *clock, "plain", seconds, false);
    const auto followed = measure(service, *clock, "followed", seconds, false);
    const auto read = measure(service, *clock, "readby", seconds, true);
    for (const auto& [what, speed] : {std::pair("nobody follows", plain), {"followed", followed}, {"and read", read}}) {
      std::cout << fmt::format("{:15} {:6.0f}/s ({:.2f})   {:5.1f} us of processor time each\n", what, speed.per_second,
                               speed.per_second / plain.per_second, speed.cpu_us);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: table_follow DIRECTORY [SECONDS] [ROUNDS]\n";
    return 2;
  }
  run(argv[1], argc > 2 ? std::stoi(argv[2]) : 3, argc > 3 ? std::stoi(argv[3]) : 3);
  return 0;
}
