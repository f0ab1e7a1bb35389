// A queue that is spread over all shards, and the operations of its tests.
#pragma once
#include <set>

#include "queue_service/model/queue_parts.h"
#include "tests/unit/queue_shards_fixture.h"

namespace tidemark::queue_service {

class QueueSpread : public QueueShards {
 protected:
  QueueSpread() { make(); }

  void make(const std::string& name = "spread", std::uint32_t parts = kShards, Metadata more = {}) {
    more.emplace_back(kPartsName, std::to_string(parts));
    const auto made = run(queues_->create_queue("acc", name, more));
    ASSERT_TRUE(made) << made.error().message;
  }
  void put(const std::string& text, const std::string& group = {}, const std::string& queue = "spread") {
    ASSERT_TRUE(run(queues_->put("acc", queue, {.text = text, .group = group})));
  }
  std::vector<TakenMessage> take(std::uint32_t count, const std::string& queue = "spread", bool lease = false) {
    auto taken =
        run(queues_->get("acc", queue, {.count = count, .visibility = std::chrono::seconds(30), .lease = lease}, {}));
    EXPECT_TRUE(taken);
    return taken ? std::move(*taken) : std::vector<TakenMessage>();
  }
  static LeaseKey receipt_of(const TakenMessage& taken, const std::string& queue = "spread") {
    return {"acc", place_of_receipt(queue, taken.receipt), taken.message.id, 0, taken.receipt};
  }
  static LeaseKey lease_of(const TakenMessage& taken) {
    return {"acc", taken.message.part, taken.message.id, taken.message.epoch};
  }
  std::uint64_t count(const std::string& queue = "spread") {
    const auto properties = run(queues_->get_properties("acc", queue));
    EXPECT_TRUE(properties);
    return properties ? properties->messages : 0;
  }
  std::size_t rows(const std::string& prefix) {
    std::size_t count = 0;
    for (auto& engine : engines_) count += kv::keys_under(engine, prefix).size();
    return count;
  }
  /// Makes a call on another connection, before the next transaction of the shard.
  template <class Make>
  void meanwhile(std::size_t shard, Make make_task) {
    engines_[shard].before_next = [this, make_task] {
      QueueService other(shards_, clock_, *random_);
      asio::io_context io;
      bool succeeded = false;
      asio::co_spawn(io, make_task(other), [&](const std::exception_ptr&, auto done) { succeeded = done.has_value(); });
      io.run();
      EXPECT_TRUE(succeeded);
    };
  }
  /// Returns the name of a queue on this shard other than the fixture's.
  std::string another_on(std::size_t shard) {
    std::string name;
    for (int i = 0; name.empty() || shards_.placement.of({"acc", name}) != shard; ++i) {
      name = "beside-" + std::to_string(i);
    }
    EXPECT_TRUE(run(queues_->create_queue("acc", name, {})));
    return name;
  }
  LeaseKey put_and_take_of_group(const std::string& queue, const std::string& text, const std::string& group) {
    put(text, group, queue);
    return lease_of(take(1, queue, true).front(), queue);
  }
  static LeaseKey lease_of(const TakenMessage& taken, const std::string& queue) {
    return {"acc", queue, taken.message.id, taken.message.epoch};
  }
  static std::set<std::string> texts_of(const std::vector<TakenMessage>& taken) {
    std::set<std::string> texts;
    for (const auto& each : taken) texts.insert(each.message.text);
    return texts;
  }
};

}  // namespace tidemark::queue_service
