// Load on any server of the Azure Queue REST protocol, with as few instructions as possible: two threads, each with
// half of the connections and an epoll, so that most of the two cores is left to the system that is measured.
#pragma once
#include <cstdint>
#include <vector>

#include "bench/clients/message_queue.h"

namespace tidemark::bench {

struct RestPlan {
  Target target;
  bool whole_cycles = false;  // put, take and remove one message, again and again; or only put
  bool bare = false;          // the server keeps no messages: any answer will do
  int connections = 0;
  int seconds = 0;
};

struct RestResult {
  std::uint64_t units = 0;       // puts or cycles that were acknowledged
  std::uint64_t empty = 0;       // answers without a message where there should have been one
  std::vector<double> taken_ms;  // of each request
};

RestResult run_rest_load(const RestPlan& plan);

}  // namespace tidemark::bench
