#include "common/service/engine_metrics.h"

namespace tidemark::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily histogram(const char* name, const char* help, const Histogram::Counts& counts,
                       std::span<const std::uint64_t> bounds, double unit) {
  MetricFamily family{name, help, MetricType::Histogram, {}};
  process::add_histogram(family, counts, bounds, unit);
  return family;
}

/// Makes a family of one metric whose values differ in one label.
MetricFamily by(const char* name, const char* help, MetricType type, const char* label,
                std::initializer_list<std::pair<const char*, std::uint64_t>> values) {
  MetricFamily family{name, help, type, {}};
  for (const auto& [what, value] : values) process::add_value(family, static_cast<double>(value), {{label, what}});
  return family;
}

MetricFamily counter(const char* name, const char* help, double value) {
  return process::figure(name, help, MetricType::Counter, value);
}

MetricFamily gauge(const char* name, const char* help, std::uint64_t value) {
  return process::figure(name, help, MetricType::Gauge, static_cast<double>(value));
}

double seconds(std::uint64_t us) { return static_cast<double>(us) / process::kUsPerSecond; }

void add_writes(const kv::EngineFigures& figures, std::vector<MetricFamily>& out) {
  out.push_back(histogram("tidemark_database_group_transactions", "Transactions in a group of the log.",
                          figures.group_transactions, figures.group_bounds, 1));
  out.push_back(histogram("tidemark_database_transaction_wait_seconds",
                          "Time from the submission of a transaction until it is durable.", figures.waits_us,
                          figures.wait_bounds_us, process::kUsPerSecond));
  out.push_back(histogram("tidemark_database_log_sync_seconds", "Time to sync the log to the disk.",
                          figures.log_syncs_us, figures.log_sync_bounds_us, process::kUsPerSecond));
  out.push_back(counter("tidemark_database_log_bytes_total", "Bytes written to the log.",
                        static_cast<double>(figures.log_bytes)));
  out.push_back(counter("tidemark_database_stall_seconds_total", "Time that writes were held up by compactions.",
                        seconds(figures.stalled_us)));
  out.push_back(gauge("tidemark_database_delayed_write_bytes_per_second",
                      "What writes are slowed down to; 0: they are not.", figures.delayed_write_bytes_per_s));
  out.push_back(gauge("tidemark_database_writes_stopped", "1 while writes wait for a compaction.",
                      figures.writes_stopped ? 1 : 0));
}

void add_files(const kv::EngineFigures& figures, std::vector<MetricFamily>& out) {
  out.push_back(by("tidemark_database_compactions_total", "Flushes and compactions that ended.", MetricType::Counter,
                   "kind", {{"flush", figures.flushes}, {"compaction", figures.compactions}}));
  MetricFamily time{"tidemark_database_compaction_seconds_total", "Time that they took.", MetricType::Counter, {}};
  process::add_value(time, seconds(figures.flush_us), {{"kind", "flush"}});
  process::add_value(time, seconds(figures.compaction_us), {{"kind", "compaction"}});
  out.push_back(std::move(time));
  out.push_back(by("tidemark_database_compaction_bytes_total", "Bytes that they read and wrote.", MetricType::Counter,
                   "kind",
                   {{"flush_written", figures.flush_written_bytes},
                    {"read", figures.compaction_read_bytes},
                    {"written", figures.compaction_written_bytes}}));
  out.push_back(by("tidemark_database_compactions_running", "Flushes and compactions under way.", MetricType::Gauge,
                   "kind", {{"flush", figures.running_flushes}, {"compaction", figures.running_compactions}}));
  out.push_back(gauge("tidemark_database_pending_compaction_bytes",
                      "What compactions have yet to rewrite, an estimate.", figures.pending_compaction_bytes));
  out.push_back(
      gauge("tidemark_database_level0_files", "Files that no compaction has taken up yet.", figures.youngest_files));
  out.push_back(gauge("tidemark_database_file_bytes", "Size of the database's files.", figures.file_bytes));
}

MetricFamily reads(std::uint64_t from_memory, std::uint64_t from_database) {
  return by("tidemark_database_reads_total", "Point reads, answered from memory and by asking the database.",
            MetricType::Counter, "from", {{"memory", from_memory}, {"database", from_database}});
}

void add_lookups(const kv::EngineFigures& figures, std::vector<MetricFamily>& out) {
  out.push_back(by("tidemark_database_cache_lookups_total", "Lookups of blocks in the cache.", MetricType::Counter,
                   "outcome", {{"hit", figures.cache_hits}, {"miss", figures.cache_misses}}));
  out.push_back(by("tidemark_database_memtable_lookups_total", "Lookups of keys in what is not in a file yet.",
                   MetricType::Counter, "outcome",
                   {{"hit", figures.memtable_hits}, {"miss", figures.memtable_misses}}));
  out.push_back(reads(figures.recent_reads, figures.asked_reads));
}

std::vector<MetricFamily> figures_of_all(const kv::Engine& engine) {
  const auto used = engine.memory();
  std::vector<MetricFamily> out;
  out.push_back(by("tidemark_database_memory_bytes", "Memory of the database, by part.", MetricType::Gauge, "part",
                   {{"cache", used.cache_bytes}, {"write_buffers", used.write_buffers_bytes}}));
  out.push_back(
      gauge("tidemark_database_waiting_transactions", "Transactions that wait for the writer.", engine.queue_depth()));
  return out;
}

}  // namespace

std::vector<MetricFamily> engine_figures(const kv::RocksDbEngine& engine) {
  const auto figures = engine.figures();
  auto out = figures_of_all(engine);
  add_writes(figures, out);
  add_files(figures, out);
  add_lookups(figures, out);
  return out;
}

std::vector<MetricFamily> engine_figures(const kv::PostgresEngine& engine) {
  const auto figures = engine.figures();
  auto out = figures_of_all(engine);
  const auto count = [&](const char* name, const char* help, std::uint64_t value) {
    out.push_back(counter(name, help, static_cast<double>(value)));
  };
  count("tidemark_database_groups_total", "Groups of transactions that were committed.", figures.groups);
  count("tidemark_database_transactions_total", "Transactions whose outcome was told.", figures.transactions);
  count("tidemark_database_bodies_run_total", "How often their bodies were run: again, if something had to be fetched.",
        figures.bodies_run);
  count("tidemark_database_fetches_total", "Round trips for rows that bodies had to know.", figures.fetches);
  out.push_back(reads(figures.known_reads, figures.asked_reads));
  out.push_back(histogram("tidemark_database_commit_seconds", "Time to commit a group.", figures.commits_us,
                          figures.commit_bounds_us, process::kUsPerSecond));
  count("tidemark_database_settled_groups_total", "Groups whose outcome was looked up after a lost connection.",
        figures.settled);
  return out;
}

std::vector<MetricFamily> by_shard(std::vector<std::vector<MetricFamily>> of_shards) {
  if (of_shards.size() == 1) return std::move(of_shards.front());
  std::vector<std::pair<std::size_t, std::vector<MetricFamily>>> numbered;
  for (auto& one : of_shards) numbered.emplace_back(numbered.size(), std::move(one));
  return with_shards(std::move(numbered));
}

std::vector<MetricFamily> with_shards(std::vector<std::pair<std::size_t, std::vector<MetricFamily>>> of_shards) {
  std::vector<MetricFamily> all;
  for (auto& [shard, families] : of_shards) {
    for (std::size_t i = 0; i < families.size(); ++i) {
      for (auto& metric : families[i].metric) metric.label.push_back({"shard", std::to_string(shard)});
      if (i == all.size()) {
        all.push_back(std::move(families[i]));
      } else {
        std::ranges::move(families[i].metric, std::back_inserter(all[i].metric));
      }
    }
  }
  return all;
}

}  // namespace tidemark::service
