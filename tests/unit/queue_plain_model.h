// What the queue service promises, as plain lists: the model of the property test. It shares no code with the service;
// every rule is written out again, slowly. One thread.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/time.h"

namespace tidemark::queue_service::model {

struct Message {
  std::string id, queue, text, annotation;
  std::string receipt;  // unknown after a step that does not tell it
  Time inserted, expires, visible_at;
  std::uint64_t order = 0;  // of its last rewrite
  std::uint32_t count = 0;
  std::uint64_t epoch = 0;
  bool immediate = false;
  bool leased = false;

  [[nodiscard]] bool expired(Time now) const { return expires <= now; }
  [[nodiscard]] bool visible(Time now) const { return !expired(now) && (immediate || visible_at <= now); }
};

struct Queue {
  Time last_immediate{};
  std::map<std::string, std::string> metadata;
};

/// Something that once named a message and must never do so again.
struct Relic {
  std::string queue, id, receipt;
  std::uint64_t epoch = 0;
};

class Model {
 public:
  std::map<std::string, Queue> queues;
  std::map<std::string, Message> messages;  // by id; those that expired stay until the service is seen without them
  std::deque<Relic> relics;

  void place(Message& message, Time now, Duration delay) {
    auto& queue = queues.at(message.queue);
    message.immediate = delay <= Duration::zero();
    message.visible_at = message.immediate ? std::max(now, queue.last_immediate) : now + delay;
    if (message.immediate) queue.last_immediate = message.visible_at;
    message.order = ++order_;
  }
  /// Its receipt, and its lease if `lease_too`, are worth nothing from here on.
  void outdate(const Message& message, bool lease_too) {
    const auto epoch = lease_too && message.leased ? message.epoch : 0;
    if (message.receipt.empty() && epoch == 0) return;
    relics.push_back({message.queue, message.id, message.receipt, epoch});
    if (relics.size() > kMaxRelics) relics.pop_front();
  }
  void end(const std::string& id) {
    outdate(messages.at(id), true);
    messages.erase(id);
  }
  void end_all(const std::string& queue) {
    for (auto it = messages.begin(); it != messages.end();) {
      if (it->second.queue == queue) outdate(it->second, true);
      it = it->second.queue == queue ? messages.erase(it) : std::next(it);
    }
  }
  void move(Message& message, const std::string& to, Time now) {
    outdate(message, true);
    queues.try_emplace(to);
    message.queue = to;
    message.receipt.clear();
    message.leased = false;
    place(message, now, {});
  }
  std::vector<Message*> visible(const std::string& queue, Time now, std::size_t limit) {
    std::vector<Message*> out;
    for (auto& [id, message] : messages) {
      if (message.queue == queue && message.visible(now)) out.push_back(&message);
    }
    sort(out);
    if (out.size() > limit) out.resize(limit);
    return out;
  }
  std::vector<Message*> living(const std::string& queue, Time now) {
    std::vector<Message*> out;
    for (auto& [id, message] : messages) {
      if (message.queue == queue && !message.expired(now)) out.push_back(&message);
    }
    sort(out);
    return out;
  }

 private:
  static constexpr std::size_t kMaxRelics = 500;
  static void sort(std::vector<Message*>& messages) {
    std::sort(messages.begin(), messages.end(), [](const auto* a, const auto* b) {
      return std::tie(a->visible_at, a->order) < std::tie(b->visible_at, b->order);
    });
  }
  std::uint64_t order_ = 0;
};

}  // namespace tidemark::queue_service::model
