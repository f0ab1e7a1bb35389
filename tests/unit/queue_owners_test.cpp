// Two processes that share the shards of the queues, both in this one: the process that owns the queue does everything
// that a worker asks of either, and operations that span shards of both are whole.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "common/rpc/forwarded.h"
#include "queue_service/client/queue_client.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/storage/served_calls.h"
#include "tests/support/shared_process.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

struct Queues {
  using Service = QueueService;
  static rpc::Dispatch dispatch(Service& service) { return make_queue_dispatch(service); }
  static rpc::UndeliveredHook undelivered(const rpc::Dispatch& dispatch) { return make_undelivered_hook(dispatch); }
};
using Process = testing::SharedProcess<Queues>;

std::future<Result<std::optional<Message>>> receive_later(Process& process, QueueClient& client,
                                                          const std::string& queue) {
  return process.start(client.receive(queue, seconds(30), seconds(20)));
}

class QueueOwnersTest : public testing::SharedProcesses<Queues> {
 protected:
  void prepare() override {
    for (int i = 0; names_.size() < testing::kSharedShards; ++i) {
      const auto queue = "queue-" + std::to_string(i);
      names_.try_emplace(testing::kSharedPlacement.of({"acc", queue}), queue);
    }
  }
  /// Returns a queue of the process.
  const std::string& queue_of(const Process& process) {
    for (const auto& [shard, name] : names_) {
      if (process.here(shard)) return name;
    }
    throw std::runtime_error("it serves nothing");
  }

  std::map<std::size_t, std::string> names_;
};

TEST_F(QueueOwnersTest, EveryCallGoesToWhoeverHasTheQueue) {
  for (auto* process : {one_.get(), two_.get()}) {
    QueueClient client(process->link(), "acc");
    for (const auto& [shard, queue] : names_) {
      ASSERT_TRUE(process->run(client.ensure_queue(queue)));
      ASSERT_TRUE(process->run(client.put(queue, "a", Duration::zero())));
      ASSERT_TRUE(process->run(client.put(queue, "b", Duration::zero())));
      auto taken = process->run(client.receive(queue, seconds(30), Duration::zero()));
      ASSERT_TRUE(taken && *taken);
      EXPECT_EQ((*taken)->text, "a");
      EXPECT_TRUE(process->run(client.renew(lease_of(queue, **taken), seconds(60), "note")));
      EXPECT_TRUE(process->run(client.release(lease_of(queue, **taken), Duration::zero(), "", false)));
      auto both = process->run(client.receive_some(queue, seconds(30), 10));
      ASSERT_TRUE(both);
      ASSERT_EQ(both->size(), 2U);
      EXPECT_TRUE(process->run(client.move(lease_of(queue, both->at(0)), {.to_queue = queue + "-poison"})));
      EXPECT_EQ(process->run(client.complete_all({lease_of(queue, both->at(1))})).value(), std::vector<bool>{true});
      const auto listed = process->run(client.list(queue + "-poison", 10, ""));
      ASSERT_TRUE(listed);
      ASSERT_EQ(listed->messages.size(), 1U);
      const auto id = listed->messages.front().id;
      EXPECT_TRUE(process->run(client.find(queue + "-poison", id)).value().has_value());
      EXPECT_TRUE(process->run(client.redrive(queue + "-poison", id, queue, std::nullopt, "")));
      EXPECT_EQ(process->run(client.figures(queue))->messages, 1U);
      EXPECT_TRUE(process->run(client.set_paused(queue, true)));
      EXPECT_TRUE(process->run(client.receive_some(queue, seconds(30), 1))->empty());
      EXPECT_TRUE(process->run(client.set_paused(queue, false)));
      auto last = process->run(client.receive(queue, seconds(30), Duration::zero()));
      ASSERT_TRUE(last && *last);
      EXPECT_TRUE(process->run(client.complete(lease_of(queue, **last))));
    }
    EXPECT_TRUE(process->run(client.figures("no-such-queue")).failed_with(ErrorCode::kQueueNotFound));
  }
}

TEST_F(QueueOwnersTest, ListingsAndFiguresShowAllShards) {
  QueueClient maker(one_->link(), "acc");
  for (const auto& [shard, queue] : names_) {
    ASSERT_TRUE(one_->run(maker.ensure_queue(queue)));
    ASSERT_TRUE(one_->run(maker.put(queue, "text", Duration::zero())));
  }
  for (auto* process : {one_.get(), two_.get()}) {
    QueueClient client(process->link(), "acc");
    EXPECT_EQ(process->run(client.list_queues("queue-"))->size(), testing::kSharedShards);
    const auto figures = process->run(client.all_figures(100, ""));
    ASSERT_TRUE(figures);
    ASSERT_EQ(figures->queues.size(), testing::kSharedShards);
    for (const auto& [name, of_queue] : figures->queues) EXPECT_EQ(of_queue.messages, 1U) << name;
  }
}

TEST_F(QueueOwnersTest, MessagesTravelToShardsOfTheOtherProcess) {
  const auto &here = queue_of(*one_), &there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  for (const auto& queue : {here, there}) ASSERT_TRUE(one_->run(client.ensure_queue(queue)));
  for (const auto& [from, to] : {std::pair(here, there), std::pair(there, here)}) {
    ASSERT_TRUE(one_->run(client.put(from, "first", Duration::zero())));
    auto first = one_->run(client.receive(from, seconds(30), Duration::zero()));
    ASSERT_TRUE(first && *first);
    const auto ids = one_->run(client.finish(lease_of(from, **first), {{to, {.text = "follow-up"}}}));
    ASSERT_TRUE(ids);
    auto next = one_->run(client.receive(to, seconds(30), Duration::zero()));
    ASSERT_TRUE(next && *next);
    EXPECT_EQ((*next)->id, ids->front());
    ASSERT_TRUE(one_->run(client.move(lease_of(to, **next), {.to_queue = from})));
    auto back = one_->run(client.receive(from, seconds(30), Duration::zero()));
    ASSERT_TRUE(back && *back);
    EXPECT_EQ((*back)->text, "follow-up");
    EXPECT_TRUE(one_->run(client.complete(lease_of(from, **back))));
  }
}

TEST_F(QueueOwnersTest, AMessageIsFoundAndWithdrawnWhereverItIs) {
  const auto &here = queue_of(*one_), &there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  for (const auto& queue : {here, there}) ASSERT_TRUE(one_->run(client.ensure_queue(queue)));
  for (const auto& queue : {here, there}) {
    const auto name = one_->run(client.put_named(queue, {.text = "text"}));
    ASSERT_TRUE(name);
    EXPECT_TRUE(one_->run(client.holds({here, there}, *name)).value());
    EXPECT_TRUE(one_->run(client.withdraw({here, there}, *name)).value());
    EXPECT_FALSE(one_->run(client.holds({here, there}, *name)).value());
    EXPECT_FALSE(one_->run(client.withdraw({here, there}, *name)).value());
  }
}

TEST_F(QueueOwnersTest, AWaitAtOneProcessHearsOfAPutAtTheOtherAndCanBeEnded) {
  const auto& there = queue_of(*two_);
  QueueClient waiting(one_->link(), "acc", "waiting");
  QueueClient putting(two_->link(), "acc");
  ASSERT_TRUE(one_->run(waiting.ensure_queue(there)));
  auto got = receive_later(*one_, waiting, there);
  ASSERT_TRUE(eventually([&] { return two_->service().waiters() == 1; })) << "it waits where the queue is";
  ASSERT_TRUE(two_->run(putting.put(there, "news", Duration::zero())));
  EXPECT_EQ((**got.get()).text, "news");
  auto ended = receive_later(*one_, waiting, there);
  ASSERT_TRUE(eventually([&] { return two_->service().waiters() == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  one_->run(waiting.end_waits());
  EXPECT_FALSE(ended.get()->has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
}

/// Its parts are on all shards, so both processes own some of them, and either may be asked.
TEST_F(QueueOwnersTest, ASpreadQueueIsOneQueueOverBothProcesses) {
  const auto& queue = queue_of(*one_);
  const Metadata spread{{std::string(kPartsName), std::to_string(testing::kSharedShards)},
                        {std::string(kMaxDequeueCountName), "2"}};
  const auto made = one_->run(one_->service().create_queue("acc", queue, spread));
  ASSERT_TRUE(made) << made.error().message;
  for (auto* process : {one_.get(), two_.get()}) {
    QueueClient client(process->link(), "acc", "client");
    std::set<std::string> put, taken;
    for (int i = 0; i < 20; ++i) {
      const auto text = std::to_string(i);
      ASSERT_TRUE(process->run(client.put(queue, {.text = text, .group = i % 2 == 0 ? "" : "group " + text})));
      put.insert(text);
    }
    EXPECT_EQ(process->run(client.figures(queue))->messages, 20U);
    std::vector<Lease> leases;
    while (taken.size() < put.size()) {
      const auto some = process->run(client.receive_some(queue, seconds(30), 7));
      ASSERT_TRUE(some && !some->empty());
      for (const auto& message : *some) {
        EXPECT_TRUE(taken.insert(message.text).second) << message.text << " twice";
        leases.push_back(lease_of(queue, message));
      }
    }
    EXPECT_EQ(taken, put);
    EXPECT_TRUE(process->run(client.renew(leases[0], seconds(60), "note")));
    EXPECT_TRUE(process->run(client.release(leases[1], Duration::zero(), "", true)));
    EXPECT_TRUE(process->run(client.finish(leases[2], {{queue, {.text = "after"}}})));
    for (std::size_t i = 3; i < 6; ++i) {
      ASSERT_TRUE(process->run(client.move(leases[i], {.to_queue = queue + "-poison"})));
    }
    const auto gone = process->run(client.complete_all({leases.begin() + 6, leases.end()}));
    ASSERT_TRUE(gone);
    EXPECT_EQ(*gone, std::vector<bool>(leases.size() - 6, true));
    EXPECT_TRUE(process->run(client.complete(leases[0])));

    const auto poisoned = process->run(client.list(queue + "-poison", 100, ""));
    ASSERT_TRUE(poisoned);
    ASSERT_EQ(poisoned->messages.size(), 3U);
    EXPECT_TRUE(process->run(client.remove(queue + "-poison", poisoned->messages[0].id)));
    for (const auto i : {1U, 2U}) {
      EXPECT_TRUE(process->run(client.redrive(queue + "-poison", poisoned->messages[i].id, queue, std::nullopt, "")));
    }
    for (int i = 0; i < 4; ++i) {
      auto got = process->run(client.receive(queue, seconds(30), seconds(5)));
      ASSERT_TRUE(got && *got) << i << ": what was given back, the follow-up, and two from the poison queue";
      EXPECT_TRUE(process->run(client.complete(lease_of(queue, **got))));
    }
    // A wait ends wherever the message arrives.
    for (int i = 0; i < 4; ++i) {
      auto got = receive_later(*process, client, queue);
      ASSERT_TRUE(eventually([&] { return one_->service().waiters() == 1; }));
      ASSERT_TRUE(process->run(client.put(queue, "news", Duration::zero())));
      auto message = got.get();
      ASSERT_TRUE(message && *message);
      EXPECT_TRUE(process->run(client.complete(lease_of(queue, **message))));
    }
    EXPECT_EQ(process->run(client.figures(queue))->messages, 0U);
  }
}

/// Requests over HTTP make these calls, in the process to which they come.
TEST_F(QueueOwnersTest, EitherProcessCarriesOutTheCallsOfRequests) {
  const auto& queue = queue_of(*one_);
  for (auto* process : {one_.get(), two_.get()}) {
    auto& service = process->service();
    const Metadata spread{{std::string(kPartsName), std::to_string(testing::kSharedShards)}};
    EXPECT_TRUE(process->run(service.call(calls::CreateQueue{"acc", queue, spread})).value());
    EXPECT_FALSE(process->run(service.call(calls::CreateQueue{"acc", queue, spread})).value());
    const auto put = [&](int i) {
      return process->run(service.call(calls::Put{"acc", queue, {.text = std::to_string(i)}}));
    };
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(put(i));
    EXPECT_EQ(process->run(service.call(calls::Peek{"acc", queue, 32}))->size(), 8U);
    const auto taken = process->run(service.get_anywhere("acc", queue, {.count = 32, .visibility = seconds(30)}, {}));
    ASSERT_TRUE(taken);
    ASSERT_EQ(taken->size(), 8U);
    for (const auto& [message, receipt] : *taken) {
      LeaseKey holder{"acc", place_of_receipt(queue, receipt), message.id, 0, receipt};
      const auto kept = process->run(service.call(calls::Update{holder, seconds(60), "changed"}));
      ASSERT_TRUE(kept);
      EXPECT_TRUE(process->run(service.call(calls::Complete{holder})).failed_with(ErrorCode::kMessageNotFound));
      holder.receipt = kept->receipt;
      EXPECT_TRUE(process->run(service.call(calls::Complete{holder})));
    }
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(put(i));
    ASSERT_TRUE(process->run(service.call(calls::PatchMetadata{"acc", queue, {{"colour", "blue"}}})));
    EXPECT_EQ(process->run(service.call(calls::GetProperties{"acc", queue}))->messages, 8U);
    ASSERT_TRUE(process->run(service.call(calls::Clear{"acc", queue})));
    const auto properties = process->run(service.call(calls::GetProperties{"acc", queue}));
    EXPECT_EQ(properties->messages, 0U);
    EXPECT_EQ(*entry_in(properties->metadata, "colour"), "blue");
    ASSERT_TRUE(process->run(service.call(calls::SetAcl{"acc", queue, {{"policy", {}, {}, {}}}})));
    EXPECT_EQ(service.get_acl("acc", queue)->size(), 1U);
    ASSERT_TRUE(process->run(service.call(calls::DeleteQueue{"acc", queue})));
    EXPECT_TRUE(put(0).failed_with(ErrorCode::kQueueNotFound));
    const std::string document = "<StorageServiceProperties><Cors /></StorageServiceProperties>";
    EXPECT_TRUE(process->run(service.call(calls::SetServiceProperties{"acc", document})));
    EXPECT_TRUE(process->run(service.call(calls::SetServiceProperties{"acc", "nonsense"}))
                    .failed_with(ErrorCode::kInvalidXmlDocument));
  }
}

TEST_F(QueueOwnersTest, AWaitForAClientThatHasGoneEndsInTheOtherProcess) {
  const auto& there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  ASSERT_TRUE(one_->run(client.ensure_queue(there)));
  std::atomic<bool> gone = false;
  auto taken = one_->start(one_->service().get_anywhere("acc", there, {.visibility = seconds(30)},
                                                        {.span = seconds(30), .gone = [&] { return gone.load(); }}));
  ASSERT_TRUE(eventually([&] { return two_->service().waiters() == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  gone = true;
  EXPECT_TRUE(taken.get()->empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s) << "before the end of its time";
  EXPECT_EQ(two_->service().waiters(), 0U);
  ASSERT_TRUE(one_->run(client.put(there, "later", Duration::zero())));
  EXPECT_EQ(one_->run(client.figures(there))->ready, 1U);
}

TEST_F(QueueOwnersTest, AWaitElsewhereEndsWhenThisProcessStops) {
  const auto& there = queue_of(*two_);
  QueueClient client(one_->link(), "acc");
  ASSERT_TRUE(one_->run(client.ensure_queue(there)));
  auto taken = one_->start(one_->service().get_anywhere("acc", there, {.visibility = seconds(30)},
                                                        {.span = seconds(30), .gone = [] { return false; }}));
  ASSERT_TRUE(eventually([&] { return two_->service().waiters() == 1; }));
  const auto begun = std::chrono::steady_clock::now();
  one_->service().begin_shutdown();
  EXPECT_TRUE(taken.get()->empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s) << "before the end of its time";
}

TEST_F(QueueOwnersTest, APassedOnCallIsNotPassedOnAgain) {
  const auto& there = queue_of(*two_);
  const auto method = rpc::forwarded_to(testing::kSharedPlacement.of({"acc", there}), calls::EnsureQueue::kMethod);
  const auto payload = wire::encode(calls::EnsureQueue{"acc", there});
  const auto refused = one_->run(one_->link().call(method, payload, seconds(10)));
  EXPECT_TRUE(refused.failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(one_->run(two_->link().call(method, payload, seconds(10))));
  for (const auto shard : {std::size_t{testing::kSharedShards}, SIZE_MAX}) {
    const auto nowhere = rpc::forwarded_to(shard, calls::EnsureQueue::kMethod);
    EXPECT_TRUE(one_->run(one_->link().call(nowhere, payload, seconds(10))).failed_with(ErrorCode::kInvalidInput));
  }
}

TEST_F(QueueOwnersTest, ACallForAShardThatDoesNotExistIsRefused) {
  const auto payload = wire::encode(calls::WithdrawHere{testing::kSharedShards, "acc", {"queue"}, {}});
  const std::string method(calls::WithdrawHere::kMethod);
  EXPECT_TRUE(one_->run(one_->link().call(method, payload, seconds(10))).failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::queue_service
