// The simulation program. One seed is one run of the whole stack under faults; see README.md.
//   --seeds A..B          run these seeds, stop at the first violation (default 1..100)
//   --count N             run as many seeds, from the one that TIDEMARK_SEED names (scripts/test takes it from the
//                         commit)
//   --seed N              run one and print what happened
//   --without RULE        take a rule out: etag-guard, fence, put-if-newer, lease-epoch, one-transaction, arrival,
//                         notes, staleness, proof, freshness, epoch, sync, moments, steps, rule-ids, rule-place,
//                         record-epoch. There are witnesses only if one of
//                         their invariants (H) is expected, so that the seeds of the other rules run as without them
//   --expect INVARIANT    succeed only if a violation of it (A1, A2, ...) is found
//   --twice               run each seed twice and compare
//   --blobs               the blob service alone, in several processes

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/log.h"
#include "tests/simulation/blob_world.h"
#include "tests/support/environment.h"

namespace {

using tidemark::simulation::run_blob_seed;
using tidemark::simulation::run_seed;
using tidemark::simulation::RunOutcome;
using tidemark::simulation::Without;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  bool print = false;
  std::string expected;  // empty: no violation
  bool twice = false;
  bool blobs = false;
  Without without;
  std::string without_text;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

bool take_out(std::string_view rule, Options& options) {
  auto& without = options.without;
  if (rule == "etag-guard") {
    without.etag_guard = true;
  } else if (rule == "fence") {
    without.fence = true;
  } else if (rule == "put-if-newer") {
    without.put_if_newer = true;
  } else if (rule == "lease-epoch") {
    without.lease_epoch = true;
  } else if (rule == "one-transaction") {
    without.one_transaction = true;
  } else if (rule == "arrival") {
    without.arrival = true;
  } else if (rule == "notes") {
    without.notes = true;
  } else if (rule == "staleness") {
    without.staleness = true;
  } else if (rule == "proof") {
    without.proof = true;
  } else if (rule == "freshness") {
    without.freshness = true;
  } else if (rule == "epoch") {
    without.epoch = true;
  } else if (rule == "sync") {
    without.sync = true;
  } else if (rule == "moments") {
    without.moments = true;
  } else if (rule == "steps") {
    without.steps = true;
  } else if (rule == "rule-ids") {
    without.rule_ids = true;
  } else if (rule == "rule-place") {
    without.rule_place = true;
  } else if (rule == "record-epoch") {
    without.record_epoch = true;
  } else {
    return false;
  }
  options.without_text += " --without " + std::string(rule);
  return true;
}

bool set_seeds(std::string_view text, Options& options) {
  const auto dots = text.find("..");
  const auto first = number(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number(text.substr(dots + 2));
  if (!first || !last || *last < *first) return false;
  options.first = *first;
  options.last = *last;
  return true;
}

bool set_count(std::string_view text, Options& options) {
  const auto count = number(text);
  if (!count || *count == 0) return false;
  options.first = tidemark::test_seed() + 1;
  options.last = options.first + tidemark::test_size(*count) - 1;
  return true;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--expect" && !value.empty()) {
      options.expected = value;
      ++i;
    } else if (name == "--twice") {
      options.twice = true;
    } else if (name == "--blobs") {
      options.blobs = true;
    } else if ((name == "--seeds" || name == "--seed") && set_seeds(value, options)) {
      options.print = name == "--seed";
      ++i;
    } else if (name == "--count" && set_count(value, options)) {
      ++i;
    } else if (name == "--without" && take_out(value, options)) {
      ++i;
    } else {
      std::fprintf(stderr, "unknown or incomplete argument: %s\n", argv[i]);
      return std::nullopt;
    }
  }
  options.without.witnesses = !options.without_text.empty() && !options.expected.starts_with('H');
  return options;
}

unsigned long long shown(std::uint64_t value) { return value; }

bool violates(const RunOutcome& outcome, std::string_view invariant) {
  for (const auto& text : outcome.violations) {
    if (text.starts_with(invariant)) return true;
  }
  return false;
}

void print_failure(const char* program, std::uint64_t seed, const RunOutcome& outcome, const Options& options) {
  for (const auto& text : outcome.violations) std::printf("seed %llu: %s\n", shown(seed), text.c_str());
  std::printf("repeat with: %s%s --seed %llu%s%s%s\n", program, options.blobs ? " --blobs" : "", shown(seed),
              options.without_text.c_str(), options.expected.empty() ? "" : " --expect ", options.expected.c_str());
}

void print_figures(const RunOutcome& figures) {
  std::printf(
      "jobs: %llu succeeded, %llu poisoned, %llu cancelled, %llu taken over by another delivery; "
      "%llu entities moved, %llu callbacks received, %llu changes by users, %llu lookups, %llu queries by lists, %llu "
      "operations of witnesses, %llu messages between "
      "shards, %llu in parts of the queue of jobs, %llu shards taken over, %llu commits of former owners refused, %llu "
      "transfers, %llu jobs of a rule, %llu crashes\n",
      shown(figures.succeeded), shown(figures.poisoned), shown(figures.cancelled), shown(figures.taken_over),
      shown(figures.moves), shown(figures.callbacks), shown(figures.changes), shown(figures.lookups),
      shown(figures.by_lists), shown(figures.witnessed), shown(figures.carried), shown(figures.in_parts),
      shown(figures.takeovers), shown(figures.refused), shown(figures.transfers), shown(figures.shipments),
      shown(figures.crashes));
}

void print_blob_figures(const RunOutcome& figures) {
  std::printf(
      "%llu operations on blobs, %llu reads, %llu shards taken over, %llu commits of former owners refused, %llu "
      "crashes\n",
      shown(figures.changes), shown(figures.lookups), shown(figures.takeovers), shown(figures.refused),
      shown(figures.crashes));
}

void add(const RunOutcome& outcome, RunOutcome& total) {
  total.succeeded += outcome.succeeded;
  total.poisoned += outcome.poisoned;
  total.cancelled += outcome.cancelled;
  total.taken_over += outcome.taken_over;
  total.moves += outcome.moves;
  total.callbacks += outcome.callbacks;
  total.changes += outcome.changes;
  total.crashes += outcome.crashes;
  total.lookups += outcome.lookups;
  total.by_lists += outcome.by_lists;
  total.witnessed += outcome.witnessed;
  total.carried += outcome.carried;
  total.in_parts += outcome.in_parts;
  total.takeovers += outcome.takeovers;
  total.refused += outcome.refused;
  total.transfers += outcome.transfers;
  total.shipments += outcome.shipments;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) return 2;
  tidemark::set_log_level(tidemark::LogLevel::kNone);  // the failures here are intended
  RunOutcome total;
  const auto begun = std::chrono::steady_clock::now();
  for (auto seed = options->first; seed <= options->last; ++seed) {
    const auto run = options->blobs ? &run_blob_seed : &run_seed;
    const auto outcome = run(seed, options->without, options->print);
    if (options->print) {
      std::printf("hash %016llx, %llu steps, %llu ms of virtual time\n", shown(outcome.hash), shown(outcome.notes),
                  shown(outcome.virtual_ms));
    }
    if (options->twice && run(seed, options->without, false).hash != outcome.hash) {
      std::printf("seed %llu: two runs differ\n", shown(seed));
      return 1;
    }
    add(outcome, total);
    if (outcome.violations.empty()) continue;
    if (!options->expected.empty() && !violates(outcome, options->expected)) continue;
    print_failure(argv[0], seed, outcome, *options);
    return options->expected.empty() ? 1 : 0;
  }
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%llu seeds without a violation%s%s in %.1f s\n", shown(options->last - options->first + 1),
              options->expected.empty() ? "" : " of ", options->expected.c_str(), took);
  if (options->blobs) {
    print_blob_figures(total);
  } else {
    print_figures(total);
  }
  return options->expected.empty() ? 0 : 1;
}
