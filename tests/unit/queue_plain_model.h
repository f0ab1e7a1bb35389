// The promises of the queue service, as plain lists: the model of the property test. It shares no code with the
// service; every rule is written out again, slowly. One thread.
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

inline bool is_poison(const std::string& queue) { return queue.ends_with("-poison"); }

struct Message {
  std::string id, queue, group, text, annotation;
  std::string receipt;  // unknown after a step that does not return it
  Time inserted, expires, visible_at;
  std::uint64_t order = 0;  // of its last rewrite
  std::uint32_t count = 0;
  std::uint64_t epoch = 0;
  bool immediate = false;
  bool leased = false;
  bool listed = false;     // its lease and its id name it, not only its receipt
  bool waiting = false;    // behind another message of its group
  std::uint64_t turn = 0;  // its place among the waiting
  std::optional<std::string> original;

  [[nodiscard]] bool expired(Time now) const { return expires <= now; }
  [[nodiscard]] bool visible(Time now) const { return !waiting && !expired(now) && (immediate || visible_at <= now); }
  /// Keeps the text from before the first change in a poison queue, unless the message comes back.
  void change_text(const std::string& to) {
    if (is_poison(queue) && !original) original = text;
    text = to;
    if (original == to) original.reset();
  }
};

/// A put under a key; the same key again means the same message, for a while.
struct Key {
  std::string id, receipt, text, group;
  Time until;
};

struct Queue {
  Time last_immediate{};
  std::map<std::string, std::string> metadata;
  std::map<std::string, Key> keys;

  [[nodiscard]] bool paused() const {
    const auto found = metadata.find("tidemark_paused");
    return found != metadata.end() && found->second == "true";
  }
  /// 0: a message is delivered however often it was before.
  [[nodiscard]] std::uint32_t max_dequeue_count() const {
    const auto found = metadata.find("tidemark_max_dequeue_count");
    return found == metadata.end() ? 0 : static_cast<std::uint32_t>(std::stoul(found->second));
  }
};

inline constexpr Time kNever = std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} + std::chrono::hours(23) +
                               std::chrono::minutes(59) + std::chrono::seconds(59);

/// A receipt or lease that once named a message and must never do so again.
struct Relic {
  std::string queue, id, receipt;
  std::uint64_t epoch = 0;
};

class Model {
 public:
  std::map<std::string, Queue> queues;
  std::map<std::string, Message> messages;  // by id; expired messages stay until the service is seen without them
  std::deque<Relic> relics;

  /// Puts the message into message.queue: in its place, or behind the others of its group.
  void insert(Message& message, Time now, Duration delay) {
    const auto behind = grouped(message) && std::any_of(messages.begin(), messages.end(), [&](const auto& item) {
                          return &item.second != &message && same_group(item.second, message);
                        });
    place(message, now, delay);
    message.listed = message.listed || is_poison(message.queue) || behind;
    if (!behind) return;
    message.waiting = true;
    message.turn = message.order;
  }
  /// Gives the message a new place and a new receipt; a waiting one keeps its turn.
  void place(Message& message, Time now, Duration delay) {
    if (message.waiting) {
      message.visible_at = now + delay;
      message.order = ++order_;
      return;
    }
    auto& queue = queues.at(message.queue);
    message.immediate = delay <= Duration::zero();
    message.visible_at = message.immediate ? std::max(now, queue.last_immediate) : now + delay;
    if (message.immediate) queue.last_immediate = message.visible_at;
    message.order = ++order_;
  }
  /// The message's receipt, and its lease if `lease_too`, are no longer valid.
  void outdate(const Message& message, bool lease_too) {
    const auto epoch = lease_too && message.leased ? message.epoch : 0;
    if (message.receipt.empty() && epoch == 0) return;
    relics.push_back({message.queue, message.id, message.receipt, epoch});
    if (relics.size() > kMaxRelics) relics.pop_front();
  }
  void end(const std::string& id, Time now) {
    auto message = messages.at(id);
    outdate(message, true);
    messages.erase(id);
    follow(message, now);
  }
  void end_all(const std::string& queue) {
    for (auto it = messages.begin(); it != messages.end();) {
      if (it->second.queue == queue) outdate(it->second, true);
      it = it->second.queue == queue ? messages.erase(it) : std::next(it);
    }
    queues.at(queue).keys.clear();
  }
  void move(Message& message, const std::string& to, Time now) {
    outdate(message, true);
    const auto before = message;
    message.queue.clear();
    follow(before, now);
    queues.try_emplace(to);
    message.queue = to;
    message.receipt.clear();
    message.leased = false;
    message.waiting = false;
    if (is_poison(to)) message.expires = kNever;
    insert(message, now, {});
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
    std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) {
      if (a->waiting != b->waiting) return b->waiting;
      if (a->waiting) return std::tie(a->group, a->turn) < std::tie(b->group, b->turn);
      return std::tie(a->visible_at, a->order) < std::tie(b->visible_at, b->order);
    });
    return out;
  }

 private:
  static bool grouped(const Message& message) { return !message.group.empty() && !is_poison(message.queue); }
  static bool same_group(const Message& a, const Message& b) { return a.queue == b.queue && a.group == b.group; }
  /// The next message of the group has its turn, when it was to be visible anyway; its receipt stays valid.
  void follow(const Message& gone, Time now) {
    if (!grouped(gone) || gone.waiting) return;
    Message* next = nullptr;
    for (auto& [id, message] : messages) {
      if (!same_group(message, gone) || !message.waiting) continue;
      if (next == nullptr || message.turn < next->turn) next = &message;
    }
    if (next == nullptr) return;
    next->waiting = false;
    place(*next, now, next->visible_at - now);
  }
  static constexpr std::size_t kMaxRelics = 500;
  static void sort(std::vector<Message*>& messages) {
    std::sort(messages.begin(), messages.end(), [](const auto* a, const auto* b) {
      return std::tie(a->visible_at, a->order) < std::tie(b->visible_at, b->order);
    });
  }
  std::uint64_t order_ = 0;
};

}  // namespace tidemark::queue_service::model
