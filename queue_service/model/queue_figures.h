// The figures of a queue, for operators and autoscalers. No I/O.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace tidemark::queue_service {

struct QueueFigures {
  std::uint64_t messages = 0;   // the sum of the next four
  std::uint64_t ready = 0;      // could be taken now
  std::uint64_t delayed = 0;    // not visible yet
  std::uint64_t in_flight = 0;  // taken, and their visibility timeout has not passed
  std::uint64_t waiting = 0;    // behind another message of their group
  std::uint64_t poison = 0;     // in the queue's poison queue
  Duration oldest{};            // how long the next message could have been taken; 0 if there is none
  // Totals since the queue was created or cleared.
  std::uint64_t put = 0, taken = 0, finished = 0, moved = 0, expired = 0;
  // Messages per second, over the last minute or less.
  double in_rate = 0, out_rate = 0;
  bool paused = false;
  std::uint32_t max_dequeue_count = 0;
  std::uint32_t parts = 0;  // of a spread queue
};

struct QueueFiguresPage {
  std::vector<std::pair<std::string, QueueFigures>> queues;
  std::string continuation;  // empty at the end
};

}  // namespace tidemark::queue_service
