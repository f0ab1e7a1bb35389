// Puts load on one message queue and prints one line of JSON. Each connection has a thread and blocking calls, with
// every system. The SAS of Tidemark comes in the environment variable BENCH_SAS.
// Usage: queue_load SYSTEM PORT QUEUE MODE CONNECTIONS AMOUNT
// For AMOUNT seconds:
//   cycle    each connection puts a message of 400 bytes, takes one and removes it, again and again
//   arrival  one connection waits for messages, another puts one every 10 ms; the time from just before the put until
//            the waiting one has it
//   poll     each connection takes from a queue in which nothing is visible
//   rest-put, rest-cycle  puts alone and cycles on anything that speaks the protocol: see rest_load.h; the times are
//            of the requests
// For AMOUNT messages:
//   fill     puts them
//   delay    puts them, invisible for six days (Tidemark alone)
//   history  puts, takes and removes them
//   drain    takes and removes the messages that are there, at most AMOUNT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "bench/clients/message_queue.h"
#include "bench/clients/rest_load.h"

namespace tidemark::bench {

constexpr std::size_t kMessageBytes = 400;

void fail(const std::string& what) {
  std::fprintf(stderr, "queue_load: %s\n", what.c_str());
  std::_Exit(1);
}

std::string message_text(std::mt19937_64& random) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz__";
  std::string text(kMessageBytes, ' ');
  for (std::size_t i = 0; i < text.size();) {
    auto bits = random();
    for (int n = 0; n < 10 && i < text.size(); ++n, bits >>= 6) text[i++] = kLetters[bits & 63];
  }
  return text;
}

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kWaitSeconds = 20;
constexpr auto kArrivalInterval = std::chrono::milliseconds(10);

struct Plan {
  std::string system;
  Target target;
  std::string mode;
  int connections = 0;
  std::int64_t amount = 0;
};

struct Tally {
  std::vector<double> taken_ms;
  std::uint64_t empty = 0;  // answers without a message where there should have been one
};

double ms_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

std::unique_ptr<MessageQueue> connect(const Plan& plan, int client) {
  if (plan.system == "tidemark") return connect_tidemark(plan.target);
  if (plan.system == "rabbitmq") return connect_rabbitmq(plan.target);
  if (plan.system == "redis") return connect_redis(plan.target, client);
  fail("there is no system " + plan.system);
}

/// The remaining work of all clients together: a time or a number of messages.
class Budget {
 public:
  Budget(SteadyClock::time_point end, std::int64_t messages) : end_(end), messages_(messages) {}
  bool next() { return SteadyClock::now() < end_ && messages_.fetch_sub(1, std::memory_order_relaxed) > 0; }

 private:
  SteadyClock::time_point end_;
  std::atomic<std::int64_t> messages_;
};

bool is_timed(const std::string& mode) { return mode == "cycle" || mode == "arrival" || mode == "poll"; }

/// Does one unit of the mode; returns false when there is nothing left to drain.
bool step(const std::string& mode, MessageQueue& queue, const std::string& text, Tally& tally) {
  if (mode == "poll") {
    if (queue.take(0)) fail("a queue that should be empty had a message");
    return true;
  }
  if (mode != "drain") queue.put(text);
  if (mode == "fill" || mode == "delay") return true;
  while (!queue.take(0)) {
    if (mode == "drain") return false;
    ++tally.empty;  // another client has it, and will leave one
  }
  queue.remove();
  return true;
}

void run_client(const Plan& plan, int client, Budget& budget, Tally& tally) {
  const auto queue = connect(plan, client);
  std::mt19937_64 random(static_cast<std::uint64_t>(client));
  while (budget.next()) {
    const std::string text = message_text(random);
    const auto begin = SteadyClock::now();
    if (!step(plan.mode, *queue, text, tally)) return;
    tally.taken_ms.push_back(ms_since(begin));
  }
}

/// The waiting client: takes messages until it sees the last one; each carries the time at which it was put.
void receive_arrivals(const Plan& plan, std::atomic<bool>& waiting, Tally& tally) {
  const auto queue = connect(plan, 1);
  for (;;) {
    waiting = true;
    const auto text = queue->take(kWaitSeconds);
    const auto now = SteadyClock::now().time_since_epoch().count();
    if (!text) fail("nothing arrived while waiting");
    queue->remove();
    const auto put_at = std::strtoll(text->c_str(), nullptr, 10);
    if (put_at == 0) return;
    tally.taken_ms.push_back(static_cast<double>(now - put_at) / 1e6);
  }
}

void run_arrivals(const Plan& plan, SteadyClock::time_point end, Tally& tally) {
  std::atomic<bool> waiting = false;
  std::thread receiver([&] { receive_arrivals(plan, waiting, tally); });
  const auto queue = connect(plan, 0);
  while (!waiting) std::this_thread::sleep_for(kArrivalInterval);
  while (SteadyClock::now() < end) {
    std::this_thread::sleep_for(kArrivalInterval);
    std::string text = std::to_string(SteadyClock::now().time_since_epoch().count());
    text.resize(kMessageBytes, '_');
    queue->put(text);
  }
  queue->put("0_end");
  receiver.join();
}

/// The number of units is that of the measured times, unless they were counted otherwise.
void print(std::vector<Tally> tallies, double seconds, std::optional<std::uint64_t> units = std::nullopt) {
  std::vector<double> all;
  std::uint64_t empty = 0;
  for (auto& tally : tallies) {
    all.insert(all.end(), tally.taken_ms.begin(), tally.taken_ms.end());
    empty += tally.empty;
  }
  if (all.empty()) fail("nothing was measured");
  std::sort(all.begin(), all.end());
  std::printf(
      "RESULT {\"units\": %llu, \"seconds\": %.6f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f, \"empty\": "
      "%llu}\n",
      static_cast<unsigned long long>(units.value_or(all.size())), seconds, all[all.size() / 2],
      all[all.size() * 99 / 100], all.back(), static_cast<unsigned long long>(empty));
}

void run_rest(const Plan& plan) {
  const auto begin = SteadyClock::now();
  auto result = run_rest_load({.target = plan.target,
                               .whole_cycles = plan.mode == "rest-cycle",
                               .bare = plan.system == "bare",
                               .connections = plan.connections,
                               .seconds = static_cast<int>(plan.amount)});
  const auto seconds = ms_since(begin) / 1000;
  print({Tally{std::move(result.taken_ms), result.empty}}, seconds, result.units);
}

void run(const Plan& plan) {
  if (plan.mode.starts_with("rest-")) return run_rest(plan);
  const auto begin = SteadyClock::now();
  const bool timed = is_timed(plan.mode);
  const auto end = timed ? begin + std::chrono::seconds(plan.amount) : SteadyClock::time_point::max();
  Budget budget(end, timed ? std::numeric_limits<std::int64_t>::max() : plan.amount);
  std::vector<Tally> tallies(static_cast<std::size_t>(plan.connections));
  if (plan.mode == "arrival") {
    run_arrivals(plan, end, tallies[0]);
  } else {
    std::vector<std::thread> clients;
    for (int i = 0; i < plan.connections; ++i) {
      clients.emplace_back([&, i] { run_client(plan, i, budget, tallies[static_cast<std::size_t>(i)]); });
    }
    for (auto& client : clients) client.join();
  }
  print(std::move(tallies), ms_since(begin) / 1000);
}

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: queue_load SYSTEM PORT QUEUE MODE CONNECTIONS AMOUNT (see the top of queue_load.cpp)\n");
    return 2;
  }
  const char* sas = std::getenv("BENCH_SAS");
  const std::string mode = argv[4];
  constexpr int kSixDays = 6 * 24 * 3600;
  tidemark::bench::run({.system = argv[1],
                        .target = {.port = argv[2],
                                   .queue = argv[3],
                                   .sas = sas == nullptr ? "" : sas,
                                   .delay_s = mode == "delay" ? kSixDays : 0},
                        .mode = mode,
                        .connections = std::max(1, std::atoi(argv[5])),
                        .amount = std::max(1LL, std::atoll(argv[6]))});
}
