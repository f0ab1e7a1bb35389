// Calls between the hosts of the simulation. A faulty link delays or loses requests and replies (when a reply is lost,
// the call took effect), and delivers requests twice; a plain link only takes time. A store that dies breaks its
// connections: callers hear of it at once or at their deadline.
#pragma once
#include <deque>
#include <functional>
#include <vector>

#include "common/rpc/transport.h"
#include "tests/simulation/scheduler.h"

namespace tidemark::simulation {

/// The account of all callers.
inline constexpr const char* kAccount = "devstoreaccount1";

/// How often each fault occurs, in ten thousand calls; all zero once the faults stop.
struct LinkFaults {
  std::uint64_t lose_request = 0;
  std::uint64_t lose_reply = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t slow = 0;       // up to a second
  std::uint64_t very_slow = 0;  // beyond leases and deadlines
  Duration usual = std::chrono::milliseconds(5);
};

struct Request {
  std::string method;
  std::string payload;
  int caller = 0;
};

/// A program that answers calls.
class Callee : public Program {
 public:
  virtual Task<Result<std::string>> answer(Request request) = 0;
};

/// The longest time that a request or a reply is on its way.
inline constexpr Duration kLongestDelay = std::chrono::seconds(30);

class Network {
 public:
  Network(Scheduler& scheduler, LinkFaults faults) : scheduler_(scheduler), faults_(faults) {}
  void stop_faults() { faults_ = {0, 0, 0, 0, 0, faults_.usual}; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  /// The number of requests that were sent and are not yet answered or lost.
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
  void connections_broke(int callee);

 private:
  friend class SimTransport;
  friend class SpreadTransport;
  struct Letter {
    Request request;
    int callee = 0;
    std::uint64_t caller_life = 0;
    std::uint64_t call = 0;
    bool plain = false;
  };
  void send(std::shared_ptr<const Letter> letter);
  void deliver(std::shared_ptr<const Letter> letter, int tries);
  void reply(const Letter& letter, Result<std::string> result);
  static Task<void> serve(Network& network, Callee& callee, std::shared_ptr<const Letter> letter, Life& life);
  Duration delay(bool plain);
  [[nodiscard]] std::string describe(const Letter& letter) const;

  Scheduler& scheduler_;
  LinkFaults faults_;
  std::uint64_t in_flight_ = 0;
};

/// The link of one life to one host.
class SimTransport final : public rpc::Transport {
 public:
  SimTransport(Network& network, Life& life, int callee, bool plain)
      : network_(network), life_(life), callee_(callee), plain_(plain) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override;

 private:
  Network& network_;
  Life& life_;
  int callee_;
  bool plain_;
};

/// The link of one life to hosts that answer the same calls, as behind a proxy: each call goes to any of them.
class SpreadTransport final : public rpc::Transport {
 public:
  SpreadTransport(Network& network, Life& life, const std::vector<int>& callees, bool plain);
  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override;

 private:
  Network& network_;
  std::deque<SimTransport> links_;
};

}  // namespace tidemark::simulation
