// A queue service over four shards in memory, with a queue on each.
#pragma once
#include <array>
#include <map>

#include "queue_service/storage/carriers.h"
#include "queue_service/storage/queue_check.h"
#include "tests/support/damage.h"
#include "tests/support/refusing_engine.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {

class QueueShards : public QueueTest {
 protected:
  static constexpr std::size_t kShards = 4;

  QueueShards() {
    const shards::Placement placement(kShards, shards::Placement::Key{1, 2, 3});
    shards_.placement = placement;
    for (auto& engine : engines_) shards_.all.push_back({engine, clock_});
    // One queue on each shard, by name.
    for (int i = 0; names_.size() < kShards; ++i) {
      const auto name = "queue-" + std::to_string(i);
      names_.try_emplace(placement.of({"acc", name}), name);
    }
    restart();
    for (const auto& [shard, name] : names_) EXPECT_TRUE(run(queues_->create_queue("acc", name, {})));
  }

  void restart() {
    queues_.reset();
    queues_ = std::make_unique<QueueService>(shards_, clock_, *random_);
  }

  const std::string& on(std::size_t shard) { return names_.at(shard); }
  Message taken_from(const std::string& queue) {
    auto taken = run(queues_->get("acc", queue, {.visibility = std::chrono::seconds(30), .lease = true}, {}));
    EXPECT_TRUE(taken && taken->size() == 1) << queue;
    return taken && !taken->empty() ? std::move(taken->front().message) : Message{};
  }
  LeaseKey put_and_take(const std::string& queue, std::string text = "text") {
    EXPECT_TRUE(run(queues_->put("acc", queue, {.text = std::move(text)})));
    const auto message = taken_from(queue);
    return {"acc", queue, message.id, message.epoch};
  }
  std::vector<std::string> texts_in(const std::string& queue) {
    std::vector<std::string> texts;
    const auto page = queues_->list("acc", queue, 100, "");
    EXPECT_TRUE(page);
    for (const auto& message : page->messages) texts.push_back(message.text);
    return texts;
  }
  std::size_t on_their_way() {
    std::size_t count = 0;
    for (auto& engine : engines_) count += kv::keys_under(engine, "x").size();
    return count;
  }
  void expect_sound() {
    for (auto& engine : engines_) {
      kv::CheckRun check;
      EXPECT_TRUE(check_queues(engine, check));
      EXPECT_EQ(check.report().found, 0U);
    }
  }

  using Texts = std::vector<std::string>;
  std::array<kv::RefusingEngine, kShards> engines_;
  shards::Shards shards_;
  std::map<std::size_t, std::string> names_;
  std::unique_ptr<QueueService> queues_;
};

}  // namespace tidemark::queue_service
