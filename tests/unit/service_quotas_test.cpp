// Quotas of accounts: how bounds are read, when usage is counted, and the refusals of each store once there is no room.
#include "common/service/quotas.h"

#include <limits>

#include "blob_store/storage/blob_holdings.h"
#include "common/service/quota_watch.h"
#include "common/service/store_process.h"
#include "queue_service/storage/queue_holdings.h"
#include "service_front_fixture.h"
#include "table_store/storage/table_holdings.h"

namespace tidemark::service {
namespace {

using auth::Service;
using enum Quotas::Measure;
constexpr const char* kKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAA";

auth::Account account_with(Service service, auth::Bounds bounds, std::string name = "shop") {
  auth::Account account{std::move(name), {"key"}};
  account.bounds.at(static_cast<std::size_t>(service)) = bounds;
  return account;
}

TEST(Bounds, FollowTheKeysOfAnAccount) {
  const auto accounts =
      parse_accounts_file(std::string("# ours\nshop:") + kKey +
                          " tables=10  table_bytes=2GiB blob_bytes=5\nlab:" + kKey + ":" + kKey + "\n");
  ASSERT_TRUE(accounts) << accounts.error().message;
  const auto& shop = accounts->at(0).bounds;
  EXPECT_EQ(shop[static_cast<std::size_t>(Service::kTable)].units, 10U);
  EXPECT_EQ(shop[static_cast<std::size_t>(Service::kTable)].bytes, 2UL << 30);
  EXPECT_EQ(shop[static_cast<std::size_t>(Service::kBlob)].bytes, 5U);
  EXPECT_EQ(shop[static_cast<std::size_t>(Service::kBlob)].units, std::nullopt);
  EXPECT_EQ(accounts->at(1).keys.size(), 2U);
}

TEST(Bounds, AreRefusedIfTheyCannotBeRead) {
  for (const auto* wrong : {"tables", "tables=", "tables=x", "tables=-1", "tables=1kB", "shelves=1", "tables=1GiBs",
                            "tables=99999999999999999999", "table_bytes=18446744073709551615KiB"}) {
    const auto read = parse_accounts(std::string("shop:") + kKey + " " + wrong);
    ASSERT_TRUE(read.failed_with(ErrorCode::kConfigInvalid)) << wrong;
    EXPECT_THAT(read.error().message, HasSubstr("account shop must be tables="));
  }
}

class QuotasTest : public ::testing::Test {
 protected:
  bool add(Growth growth) {
    if (!quotas_.admit("shop", growth, growth.bytes > 0)) return false;
    quotas_.settle("shop", growth, growth, 0);
    return true;
  }
  void measure(Quotas::Measure how, std::uint64_t bytes, std::uint64_t units = 0) {
    quotas_.publish("shop", how, quotas_.begin_measure("shop"), {units, bytes});
  }
  AccountUse use() { return quotas_.use().at(0); }

  process::Metrics metrics_;
  Quotas quotas_{Service::kTable, "table", {}, {account_with(Service::kTable, {.units = 3, .bytes = 1000})}, metrics_};
};

TEST_F(QuotasTest, AdmitsAsManyAsThereMayBe) {
  measure(kEstimate, 0, 1);
  EXPECT_TRUE(add({.units = 1}));
  EXPECT_TRUE(quotas_.admit("shop", {.units = 1}, false));  // and the write is under way
  const auto refused = quotas_.admit("shop", {.units = 1}, false);
  ASSERT_TRUE(refused.failed_with(ErrorCode::kInsufficientAccountPermissions));
  EXPECT_EQ(
      refused.error().message,
      "The account may have 3 tables, and has them. Delete one, or have the operator of the store raise tables= of "
      "the account.");
  quotas_.settle("shop", {.units = 1}, {}, 0);  // it failed
  EXPECT_TRUE(add({.units = 1}));
  EXPECT_FALSE(add({.units = 1}));
  quotas_.settle("shop", {}, {}, 1);  // one was deleted
  EXPECT_TRUE(add({.units = 1}));
  EXPECT_EQ(use().units, 3U);
}

TEST_F(QuotasTest, NoAnnouncementIsSoLargeThatItsSumFits) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  measure(kEstimate, 500);
  EXPECT_FALSE(quotas_.admit("shop", {.bytes = kMost}, true));
  EXPECT_FALSE(quotas_.admit("shop", {.bytes = kMost - 400}, true));
  EXPECT_TRUE(add({.bytes = 100}));
  // Nor for an account without bounds, which may be given some while the request is under way.
  quotas_.use_accounts({account_with(Service::kTable, {})});
  EXPECT_TRUE(quotas_.admit("shop", {.bytes = 300}, true));
  EXPECT_TRUE(quotas_.admit("shop", {.bytes = kMost}, true));
  quotas_.use_accounts({account_with(Service::kTable, {.bytes = 1000})});
  EXPECT_FALSE(quotas_.admit("shop", {.bytes = 1}, true));
  quotas_.settle("shop", {.bytes = kMost}, {}, 0);
  EXPECT_TRUE(quotas_.admit("shop", {.bytes = 100}, true));
  EXPECT_FALSE(quotas_.admit("shop", {.bytes = 1}, true));
}

TEST_F(QuotasTest, FollowsBytesBetweenMeasures) {
  measure(kEstimate, 500);
  EXPECT_TRUE(add({.bytes = 300}));
  EXPECT_FALSE(add({.bytes = 201}));
  EXPECT_TRUE(add({.bytes = 200}));
  EXPECT_FALSE(quotas_.admit("shop", {}, true)) << "no more than nothing, of unknown size";
  EXPECT_TRUE(quotas_.admit("shop", {}, false)) << "adds nothing";
  EXPECT_EQ(use().bytes, 1000U);
}

TEST_F(QuotasTest, AMeasureHasWhatWasAddedBeforeItsTicketAndNothingElse) {
  measure(kEstimate, 0);
  EXPECT_TRUE(add({.bytes = 100}));
  const auto ticket = quotas_.begin_measure("shop");
  EXPECT_TRUE(add({.bytes = 10}));
  EXPECT_TRUE(quotas_.admit("shop", {.bytes = 1}, true));
  quotas_.publish("shop", kEstimate, ticket, {0, 100});
  EXPECT_EQ(use().bytes, 111U);
}

TEST_F(QuotasTest, TheSmallerOfTwoMeasuresCountsWhileTheAccountIsNearItsBound) {
  constexpr std::uint64_t kGiB = 1UL << 30;
  quotas_.use_accounts({account_with(Service::kTable, {.units = {}, .bytes = 10 * kGiB})});
  measure(kEstimate, 9 * kGiB);  // with the deleted data
  EXPECT_TRUE(quotas_.needs_count("shop"));
  measure(kCount, 2 * kGiB);
  EXPECT_EQ(use().bytes, 2 * kGiB);
  EXPECT_TRUE(add({.bytes = 7 * kGiB}));
  EXPECT_FALSE(add({.bytes = 2 * kGiB}));
  measure(kEstimate, 8 * kGiB);  // the added data replaced other data
  EXPECT_TRUE(add({.bytes = 2 * kGiB}));
  measure(kEstimate, 7 * kGiB);  // far from the bound: the counted usage is old
  EXPECT_FALSE(quotas_.needs_count("shop"));
  EXPECT_EQ(use().bytes, 7 * kGiB);
}

TEST_F(QuotasTest, ASmallBoundIsAlwaysCounted) {
  measure(kEstimate, 10);
  EXPECT_TRUE(quotas_.needs_count("shop"));
  measure(kCount, 700);
  measure(kEstimate, 20);
  EXPECT_EQ(use().bytes, 700U);
  EXPECT_FALSE(add({.bytes = 301}));
}

TEST_F(QuotasTest, NewBoundsHoldAtOnceAndWhatIsKnownStays) {
  measure(kEstimate, 900, 3);
  EXPECT_FALSE(add({.units = 1}));
  quotas_.use_accounts({account_with(Service::kTable, {.units = 4, .bytes = 500})});
  EXPECT_TRUE(add({.units = 1}));
  EXPECT_FALSE(add({.bytes = 1}));
  quotas_.use_accounts({account_with(Service::kTable, {})});
  EXPECT_FALSE(quotas_.bounds_any());
  EXPECT_TRUE(add({.bytes = 1}));
}

TEST_F(QuotasTest, TheLogIsToldOnceWhenAnAccountComesNearItsBoundAndWhenItIsFull) {
  CapturedLog log;
  measure(kEstimate, 799);
  EXPECT_THAT(log.text(), IsEmpty());
  measure(kEstimate, 800);
  measure(kEstimate, 801);
  measure(kEstimate, 1000);
  measure(kEstimate, 1001);
  EXPECT_EQ(log.text(),
            "warning an account has nearly as much as it may have account=shop of=bytes used=800 bound=1000\n"
            "warning an account has as much as it may have; what adds to it is refused account=shop of=bytes used=1000 "
            "bound=1000\n");
}

TEST_F(QuotasTest, MetricsTellUseAndBounds) {
  measure(kEstimate, 900, 3);
  EXPECT_FALSE(add({.units = 1}));
  const auto text = metrics_.render();
  EXPECT_THAT(text, HasSubstr("tidemark_account_used{account=\"shop\",of=\"tables\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("tidemark_account_used{account=\"shop\",of=\"bytes\"} 900\n"));
  EXPECT_THAT(text, HasSubstr("tidemark_account_bound{account=\"shop\",of=\"bytes\"} 1000\n"));
  EXPECT_THAT(text, HasSubstr("tidemark_account_refusals_total{of=\"tables\"} 1\n"));
}

/// The stores' reports of the accounts' usage.
class HoldingsTest : public StoreFronts {
 protected:
  Amounts counted(const Holdings& holdings) {
    return *count(std::array{MeasuredShard{engine_, {}}}, holdings, [](std::uint64_t) { return true; }, account_.name);
  }
  const Holdings tables_{&table_store::each_table, {}};
  const Holdings queues_{&queue_service::each_queue, {}};
  const Holdings blobs_{&blob_store::each_container, &blob_store::content_bytes, true};
};

TEST_F(HoldingsTest, TablesHaveTheirRows) {
  table_store::TableService service(engine_, *clock_, *random_);
  table_store::TableRoutes routes(service, *clock_, *random_, accounts_, {});
  EXPECT_EQ(counted(tables_).bytes, 0U);
  for (const auto* name : {"people", "others"}) {
    ASSERT_TRUE(run(service.create_table(account_.name, name)));
    ASSERT_TRUE(run(service.create_table("another", name)));
  }
  const std::string body = R"({"PartitionKey":"p","RowKey":"r","Text":")" + std::string(5000, 'x') + "\"}";
  ASSERT_EQ(send(routes, "POST", "people", body).status, 201U);
  EXPECT_EQ(counted(tables_).units, 2U);
  EXPECT_GT(counted(tables_).bytes, 5000U);
  EXPECT_LT(counted(tables_).bytes, 5200U);
  ASSERT_TRUE(run(service.delete_table(account_.name, "people")));
  EXPECT_EQ(counted(tables_).units, 1U);
  EXPECT_EQ(counted(tables_).bytes, 0U);
}

TEST_F(HoldingsTest, QueuesHaveTheirMessages) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  ASSERT_TRUE(run(service.create_queue(account_.name, "orders", {})));
  ASSERT_TRUE(run(service.put(account_.name, "orders", {.text = std::string(3000, 'x')})));
  EXPECT_EQ(counted(queues_).units, 1U);
  EXPECT_GT(counted(queues_).bytes, 3000U);
  EXPECT_LT(counted(queues_).bytes, 3500U);
}

TEST_F(HoldingsTest, ContainersHaveTheLengthsOfTheirContent) {
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService service(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes routes(service, *clock_, accounts_, {});
  ASSERT_EQ(send(routes, "PUT", "box?restype=container").status, 201U);
  const auto put = [&](const char* resource, std::size_t bytes) {
    ASSERT_EQ(send(routes, "PUT", resource, std::string(bytes, 'x'), {{"x-ms-blob-type", "BlockBlob"}}).status, 201U);
  };
  put("box/small", 1000);
  put("box/large", 500'000);
  put("box/blocks?comp=block&blockid=AAAA", 70);
  EXPECT_EQ(counted(blobs_).bytes, 501'070U);
  ASSERT_EQ(send(routes, "PUT", "box/small?comp=snapshot").status, 201U);
  EXPECT_EQ(counted(blobs_).bytes, 502'070U);
  ASSERT_EQ(
      send(routes, "PUT", "box/pages", "", {{"x-ms-blob-type", "PageBlob"}, {"x-ms-blob-content-length", "1048576"}})
          .status,
      201U);
  EXPECT_EQ(counted(blobs_).bytes, 502'070U) << "no page is stored";
  ASSERT_EQ(send(routes, "PUT", "box/pages?comp=page", std::string(512, 'x'),
                 {{"x-ms-page-write", "update"}, {"Range", "bytes=0-511"}})
                .status,
            201U);
  EXPECT_EQ(counted(blobs_).bytes, 502'582U);
  EXPECT_EQ(counted(blobs_).units, 1U);
  const MeasuredShard shard{engine_, [](const kv::KeyRange&) { return 1; }};
  EXPECT_EQ(estimate({&shard, 1}, blobs_, account_.name)->bytes, std::nullopt);
}

TEST_F(HoldingsTest, ACountEndsWhenItIsToldTo) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  ASSERT_TRUE(run(service.create_queue(account_.name, "orders", {})));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(run(service.put(account_.name, "orders", {.text = std::string(60'000, 'x')})));
  }
  const auto ended =
      count(std::array{MeasuredShard{engine_, {}}}, queues_, [](std::uint64_t) { return false; }, account_.name);
  EXPECT_TRUE(ended.failed_with(ErrorCode::kCancelled));
}

/// Each store refuses requests that add something, and no others.
class BoundedFronts : public StoreFronts {
 protected:
  void bound(Front& front, const std::string& unit, auth::Bounds bounds, std::uint64_t units, std::uint64_t bytes) {
    const std::vector accounts = {account_with(front.service(), bounds, account_.name)};
    quotas_ = std::make_unique<Quotas>(front.service(), unit, QuotaSettings{}, accounts, metrics_);
    quotas_->publish(account_.name, kEstimate, {}, {units, bytes});
    front.bound_by(*quotas_);
  }
  void expect_refused(const http::Response& response) {
    EXPECT_EQ(response.status, 403U) << response.body;
    EXPECT_EQ(response.headers.find("x-ms-error-code"), "InsufficientAccountPermissions");
    EXPECT_THAT(response.body, HasSubstr("The account may have"));
  }

  process::Metrics metrics_;
  std::unique_ptr<Quotas> quotas_;
};

TEST_F(BoundedFronts, TablesThatAreAsManyAsTheyMayBe) {
  table_store::TableService service(engine_, *clock_, *random_);
  table_store::TableRoutes routes(service, *clock_, *random_, accounts_, {});
  bound(routes, "table", {.units = 1, .bytes = {}}, 0, 0);
  EXPECT_EQ(send(routes, "POST", "Tables", R"({"TableName":"people"})").status, 201U);
  expect_refused(send(routes, "POST", "Tables", R"({"TableName":"others"})"));
  EXPECT_EQ(send(routes, "POST", "Tables", R"({"TableName":"People"})").status, 409U) << "it is there already";
  EXPECT_EQ(send(routes, "POST", "people", R"({"PartitionKey":"p","RowKey":"r"})").status, 201U);
  EXPECT_EQ(send(routes, "DELETE", "Tables('people')").status, 204U);
  EXPECT_EQ(send(routes, "POST", "Tables", R"({"TableName":"others"})").status, 201U);
}

TEST_F(BoundedFronts, QueuesAndContainersThatAreAsManyAsTheyMayBe) {
  queue_service::QueueService queues(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes queue_routes(queues, *clock_, accounts_, {});
  bound(queue_routes, "queue", {.units = 1, .bytes = {}}, 0, 0);
  EXPECT_EQ(send(queue_routes, "PUT", "orders").status, 201U);
  EXPECT_EQ(send(queue_routes, "PUT", "orders").status, 204U) << "it is there already";
  expect_refused(send(queue_routes, "PUT", "others"));

  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService blobs(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes blob_routes(blobs, *clock_, accounts_, {});
  bound(blob_routes, "container", {.units = 1, .bytes = {}}, 0, 0);
  EXPECT_EQ(send(blob_routes, "PUT", "box?restype=container").status, 201U);
  EXPECT_EQ(send(blob_routes, "PUT", "box?restype=container").status, 409U);
  expect_refused(send(blob_routes, "PUT", "other?restype=container"));
  EXPECT_EQ(send(blob_routes, "DELETE", "box?restype=container").status, 202U);
  EXPECT_EQ(send(blob_routes, "PUT", "other?restype=container").status, 201U);
}

TEST_F(BoundedFronts, AFullAccountTakesNoEntityAndDeletesAnyOne) {
  table_store::TableService service(engine_, *clock_, *random_);
  table_store::TableRoutes routes(service, *clock_, *random_, accounts_, {});
  ASSERT_TRUE(run(service.create_table(account_.name, "people")));
  bound(routes, "table", {.units = {}, .bytes = 100}, 0, 0);
  ASSERT_EQ(send(routes, "POST", "people", R"({"PartitionKey":"p","RowKey":"r"})").status, 201U);
  EXPECT_EQ(quotas_->use().at(0).bytes, 33U);
  const auto large = R"({"PartitionKey":"p","RowKey":"s","Text":")" + std::string(50, 'x') + "\"}";
  expect_refused(send(routes, "POST", "people", large));
  expect_refused(send(routes, "PUT", "people(PartitionKey='p',RowKey='r')", large));
  expect_refused(send(routes, "MERGE", "people(PartitionKey='p',RowKey='r')", large, {{"If-Match", "*"}}));
  EXPECT_EQ(quotas_->use().at(0).bytes, 33U) << "nothing that was refused is under way";

  const auto batch = [&](const std::string& operation, const std::string& body) {
    return send(routes, "POST", "$batch",
                "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n"
                "Content-Transfer-Encoding: binary\r\n\r\n" +
                    operation + " HTTP/1.1\r\nIf-Match: *\r\nContent-Type: application/json\r\n\r\n" + body +
                    "\r\n--c--\r\n--b--\r\n",
                {{"Content-Type", "multipart/mixed; boundary=b"}});
  };
  const auto entity = "http://127.0.0.1/" + account_.name + "/people(PartitionKey='p',RowKey='r')";
  EXPECT_THAT(batch("PUT " + entity, "{}").body, HasSubstr("The account may have"));
  EXPECT_THAT(batch("DELETE " + entity, "").body, HasSubstr("204 No Content"));
  EXPECT_EQ(send(routes, "GET", "people()").status, 200U);
}

TEST_F(BoundedFronts, AFullAccountTakesNoMessageAndLetsConsumersWork) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  ASSERT_TRUE(run(service.create_queue(account_.name, "orders", {})));
  const auto put = run(service.put(account_.name, "orders", {.text = "one"}));
  bound(routes, "queue", {.units = {}, .bytes = 100}, 0, 100);
  const std::string message = "<QueueMessage><MessageText>two</MessageText></QueueMessage>";
  expect_refused(send(routes, "POST", "orders/messages", message));
  const auto of_one = "orders/messages/" + put->id + "?popreceipt=" + percent_encode(put->receipt);
  const auto updated = send(routes, "PUT", of_one + "&visibilitytimeout=0", message);
  EXPECT_EQ(updated.status, 204U) << updated.body;
  EXPECT_EQ(send(routes, "GET", "orders/messages").status, 200U);
  EXPECT_EQ(send(routes, "DELETE", "orders/messages").status, 204U);
}

TEST_F(BoundedFronts, AFullAccountTakesNoContentAndCommitsWhatIsThere) {
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService service(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes routes(service, *clock_, accounts_, {});
  ASSERT_EQ(send(routes, "PUT", "box?restype=container").status, 201U);
  bound(routes, "container", {.units = {}, .bytes = 1000}, 0, 0);
  const auto block = [&](std::size_t bytes) {
    return send(routes, "PUT", "box/blob?comp=block&blockid=AAAA", std::string(bytes, 'x'));
  };
  ASSERT_EQ(block(600).status, 201U);
  expect_refused(block(401));
  expect_refused(send(routes, "PUT", "box/other", std::string(401, 'x'), {{"x-ms-blob-type", "BlockBlob"}}));
  ASSERT_EQ(block(400).status, 201U);
  expect_refused(send(routes, "PUT", "box/copy", "", {{"x-ms-copy-source", "http://127.0.0.1/x/box/blob"}}));
  const std::string list = "<?xml version=\"1.0\"?><BlockList><Latest>AAAA</Latest></BlockList>";
  EXPECT_EQ(send(routes, "PUT", "box/blob?comp=blocklist", list).status, 201U);
  EXPECT_EQ(send(routes, "PUT", "box/blob?comp=metadata", "", {{"x-ms-meta-a", "b"}}).status, 200U);
  EXPECT_EQ(send(routes, "DELETE", "box/blob").status, 202U);
}

/// Deleted data makes room soon after a request needs it, and not only at the next measurement.
TEST_F(BoundedFronts, ARefusalHasTheAccountMeasuredAgain) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  ASSERT_TRUE(run(service.create_queue(account_.name, "orders", {})));
  ASSERT_TRUE(run(service.put(account_.name, "orders", {.text = std::string(3000, 'x')})));
  bound(routes, "queue", {.units = {}, .bytes = 1000}, 0, 0);
  const EstimateBytes forgets_nothing = [](const kv::KeyRange&) -> std::uint64_t { return 50'000; };
  QuotaWatch watch({{engine_, forgets_nothing}}, *quotas_, {&queue_service::each_queue, {}});
  const std::string message = "<QueueMessage><MessageText>two</MessageText></QueueMessage>";
  expect_refused(send(routes, "POST", "orders/messages", message));
  ASSERT_TRUE(run(service.clear(account_.name, "orders")));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (send(routes, "POST", "orders/messages", message).status != 201) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace tidemark::service
