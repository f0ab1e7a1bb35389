// Measures how fast the table store walks entities of 1 KiB, and how much memory that takes, without HTTP: one thread,
// the service on RocksDB. Fills a directory first, unless it holds the table already.
//
//   table_scan DIRECTORY [ENTITIES] [CACHE_MIB]
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "common/base/random.h"
#include "common/kv/rocksdb_engine.h"
#include "table_store/storage/table_service.h"

namespace {

using namespace tidemark;
using namespace tidemark::table_store;

constexpr std::size_t kPerPartition = 1000;
constexpr std::size_t kPerBatch = 100;

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

std::size_t status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoul(line.substr(field.size() + 1));
  }
  return 0;
}

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// Returns an entity of ten properties, 1 KiB together; the text is as compressible as hexadecimal is.
Mutation entity(Random& random, std::size_t row) {
  Mutation out;
  out.kind = MutationKind::kInsertOrReplace;
  out.row_key = fmt::format("{:06}", row);
  for (int i = 0; i < 9; ++i) {
    std::string text;
    while (text.size() < 96) text += fmt::format("{:016x}", random.next());
    out.properties.push_back({fmt::format("text{}", i), Value(std::move(text))});
    if (i == 4) out.properties.push_back({"number", Value(static_cast<std::int32_t>(row))});
  }
  return out;
}

bool fill(TableService& service, std::size_t entities) {
  const auto random = std::make_unique<SeededRandom>(1);
  for (std::size_t n = 0; n < entities; n += kPerBatch) {
    std::vector<Mutation> batch;
    for (std::size_t i = 0; i < kPerBatch; ++i) batch.push_back(entity(*random, (n + i) % kPerPartition));
    auto task = service.mutate("acct", "scanned", fmt::format("{:06}", n / kPerPartition), std::move(batch), {});
    if (!run_task(std::move(task))) return false;
  }
  return true;
}

struct Walked {
  std::size_t matches = 0;
  std::size_t pages = 0;
  double seconds = 0;
};

std::optional<Walked> walk(TableService& service, const std::string& filter, std::uint32_t top, bool all) {
  Walked out;
  const auto begun = std::chrono::steady_clock::now();
  std::optional<Continuation> from;
  do {
    Query query;
    query.table = "scanned";
    query.filter = *Filter::parse(filter);
    query.top = top;
    query.from = from;
    auto page = run_task(service.query("acct", std::move(query), [](const EntityView&) { return true; }));
    if (!page) return std::nullopt;
    out.matches += page->count;
    ++out.pages;
    from = page->next;
  } while (all && from);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return out;
}

int measure(TableService& service, std::size_t entities) {
  for (int round = 0; round < 2; ++round) {
    const auto scan = walk(service, "number eq -1", 1000, true);
    if (!scan) return 1;
    std::cout << fmt::format("scan matching nothing: {:.0f} entities/s ({} pages)\n",
                             static_cast<double>(entities) / scan->seconds, scan->pages);
  }
  const auto random = std::make_unique<SeededRandom>(2);
  constexpr int kQueries = 2000;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kQueries; ++i) {
    const auto pk = random->below(std::max<std::size_t>(1, entities / kPerPartition));
    const auto first = random->below(kPerPartition - 100);
    const auto range =
        walk(service,
             fmt::format("PartitionKey eq '{:06}' and RowKey ge '{:06}' and RowKey lt '{:06}'", pk, first, first + 100),
             1000, false);
    if (!range || range->matches != 100) return 1;
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::cout << fmt::format("range of 100: {:.0f} queries/s\n", kQueries / seconds);
  std::cout << fmt::format("memory: {} MiB now, {} MiB at most\n", status_kib("VmRSS:") >> 10,
                           status_kib("VmHWM:") >> 10);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: table_scan DIRECTORY [ENTITIES] [CACHE_MIB]\n";
    return 2;
  }
  const std::size_t entities = argc > 2 ? std::stoul(argv[2]) : 1'000'000;
  kv::RocksDbOptions options;
  options.path = argv[1];
  options.durability = kv::Durability::kOs;
  if (argc > 3) options.block_cache_bytes = std::stoul(argv[3]) << 20;
  const bool filled = std::filesystem::exists(options.path);
  auto engine = kv::open_rocksdb(options);
  if (!engine) {
    std::cerr << engine.error().message << "\n";
    return 1;
  }
  const auto clock = make_system_clock();
  const auto random = make_system_random();
  TableService service(**engine, *clock, *random);
  if (!filled && (!run_task(service.create_table("acct", "scanned")) || !fill(service, entities))) return 1;
  return measure(service, entities);
}
