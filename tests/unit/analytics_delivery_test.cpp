// Workers deliver a store's records to the blob store and the table store, and die on the way.
#include <boost/asio/thread_pool.hpp>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/storage/blob_service.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/table_service.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_payloads.h"
#include "tests/unit/analytics_fixture.h"
#include "workers/analytics/collector.h"

namespace tidemark::workers {
namespace {

using analytics::Grain;
using std::chrono::hours;

class Link final : public rpc::Transport {
 public:
  explicit Link(rpc::Dispatch dispatch) : dispatch_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration) override {
    if (fails_at != 0 && --fails_at == 0) co_return fail(ErrorCode::kUnavailable);
    co_return co_await dispatch_(std::move(method), std::move(payload));
  }
  int fails_at = 0;  // the call that does not arrive

 private:
  rpc::Dispatch dispatch_;
};

class DeliveryTest : public analytics::AnalyticsFixture {
 protected:
  std::shared_ptr<AnalyticsCollector> worker(const std::string& name) {
    return AnalyticsCollector::create({.worker = name}, {{"blob", &blob_link_}, {"table", &table_link_}}, clock_);
  }
  void collect_all(const std::string& name = "w") { ASSERT_TRUE(run(worker(name)->collect("blob")).has_value()); }

  std::vector<std::string> logs() {
    auto page = blobs_.list_blobs({"acc", "$logs"}, {});
    std::vector<std::string> out;
    if (page) {
      for (auto& item : page->items) out.push_back(std::move(item.name));
    }
    return out;
  }
  std::optional<table_store::Entity> row(const std::string& table, const std::string& partition,
                                         const std::string& key) {
    auto found = tables_.get("acc", table, partition, key);
    return found ? *found : std::nullopt;
  }
  std::int64_t number(const std::optional<table_store::Entity>& entity, std::string_view name) {
    if (!entity) return -1;
    for (const auto& property : entity->properties) {
      if (property.name == name) return std::get<std::int64_t>(property.value);
    }
    return -1;
  }
  std::int64_t requests(const std::string& key = "user;All") {
    return number(row("$MetricsHourPrimaryTransactionsBlob", "20261123T0100", key), "TotalRequests");
  }

  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> blob_engine_ = kv::make_memory_engine();
  std::unique_ptr<kv::Engine> table_engine_ = kv::make_memory_engine();
  blob_store::TemporaryPayloads files_{io_.get_executor()};
  blob_store::BlobService blobs_{*blob_engine_, clock_, *random_, files_, io_.get_executor()};
  table_store::TableService tables_{*table_engine_, clock_, *random_};
  Link blob_link_{analytics_->beside(blob_store::make_blob_dispatch(blobs_))};
  Link table_link_{table_store::make_table_dispatch(tables_)};
};

TEST_F(DeliveryTest, MakesLogsAndRows) {
  want_everything();
  answer();
  answer("ListBlobs");
  flush();
  collect_all();
  ASSERT_EQ(logs(), std::vector<std::string>{"blob/2026/11/23/0100/000000.log"});
  const auto blob = blobs_.get_blob({"acc", "$logs", logs()[0], {}}, {});
  ASSERT_TRUE(blob.has_value());
  EXPECT_EQ(blob->metadata, (blob_store::Metadata{{"LogType", "read"},
                                                  {"StartTime", "2026-11-23T01:30:00Z"},
                                                  {"EndTime", "2026-11-23T01:30:00Z"},
                                                  {"LogVersion", "1.0"}}));
  EXPECT_EQ(requests(), 2);
  EXPECT_EQ(requests("user;GetBlob"), 1);
  EXPECT_EQ(number(row("$MetricsMinutePrimaryTransactionsBlob", "20261123T0130", "user;All"), "TotalRequests"), 2);
  EXPECT_FALSE(row("$MetricsMinutePrimaryTransactionsBlob", "20261123T0130", "user;GetBlob"));
}

TEST_F(DeliveryTest, WhoeverDiesAnywhereIsReplacedAndNothingCountsTwice) {
  want_everything();
  std::int64_t answered = 0;
  std::size_t flushes = 0;
  for (auto* link : {&blob_link_, &table_link_}) {
    for (int at = 1; at < 12; ++at) {
      answer();
      answered += 1;
      flush();
      ++flushes;
      link->fails_at = at;
      (void)run(worker("dies")->collect("blob"));
      link->fails_at = 0;
      clock_.time += std::chrono::seconds(31);
      collect_all("takes over");
      ASSERT_EQ(requests(), answered) << "call " << at;
      ASSERT_EQ(logs().size(), flushes) << "call " << at;
      clock_.time += std::chrono::seconds(31);
    }
  }
}

TEST_F(DeliveryTest, AWorkerThatWakesLateReplacesNothing) {
  want_everything();
  answer();
  flush();
  const auto stale = collect("sleeps");
  answer();
  flush();
  clock_.time += std::chrono::seconds(31);
  collect_all();
  AnalyticsDelivery late({blob_link_, table_link_});
  ASSERT_TRUE(run(late.deliver("blob", stale)).has_value());
  EXPECT_EQ(requests(), 2);
  EXPECT_EQ(logs().size(), 2U);
}

TEST_F(DeliveryTest, WhatIsOldIsRemoved) {
  want_everything();
  answer();
  flush();
  collect_all();
  clock_.time += hours(24 * 7 - 1);
  answer();
  flush();
  collect_all();
  EXPECT_EQ(logs().size(), 2U);
  EXPECT_EQ(requests(), 1);
  clock_.time += hours(3);
  collect_all("another");
  EXPECT_EQ(logs(), std::vector<std::string>{"blob/2026/11/30/0000/000000.log"});
  EXPECT_EQ(requests(), -1);
}

TEST_F(DeliveryTest, AnAccountThatBeginsToWantMetricsNeedNotWait) {
  const auto patient = worker("w");
  ASSERT_TRUE(run(patient->collect("blob")).has_value());
  want_everything();
  flush();
  ASSERT_TRUE(run(patient->collect("blob")).has_value());
  EXPECT_TRUE(row("$MetricsCapacityBlob", "20261123T0000", "data"));
}

TEST_F(DeliveryTest, CapacityIsNotedOnceADay) {
  want_everything();
  ASSERT_TRUE(run(blobs_.create_container({"acc", "box"}, {}, {})).has_value());
  ASSERT_TRUE(run(blobs_.create_append_blob({"acc", "box", "b", {}}, {}, {})).has_value());
  answer();
  flush();
  collect_all();
  const auto users = [&] { return row("$MetricsCapacityBlob", "20261123T0000", "data"); };
  EXPECT_EQ(number(users(), "ContainerCount"), 1);
  EXPECT_EQ(number(users(), "ObjectCount"), 1);
  EXPECT_EQ(number(row("$MetricsCapacityBlob", "20261123T0000", "analytics"), "ObjectCount"), 1);
  ASSERT_TRUE(run(blobs_.create_container({"acc", "box2"}, {}, {})).has_value());
  clock_.time += hours(1);
  collect_all();
  EXPECT_EQ(number(users(), "ContainerCount"), 1);
}

}  // namespace
}  // namespace tidemark::workers
