// Tells whether the last Get of a queue found a message. If it did, the next one probably will too, and begins a
// transaction without reading first. It is a guess, which queues with the same hash share; a wrong one costs a
// transaction without writes, or a read. Thread safe.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <string_view>

namespace tidemark::queue_service {

class LastGets {
 public:
  [[nodiscard]] bool found(std::string_view account, std::string_view queue) const {
    return found_[slot(account, queue)].load(std::memory_order_relaxed);
  }
  void note(std::string_view account, std::string_view queue, bool found) {
    found_[slot(account, queue)].store(found, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static std::size_t slot(std::string_view account, std::string_view queue) {
    const std::hash<std::string_view> hash;
    return (hash(account) * 31 + hash(queue)) % kSlots;
  }
  std::array<std::atomic<bool>, kSlots> found_{};
};

}  // namespace tidemark::queue_service
