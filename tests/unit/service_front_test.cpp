// Common behaviour of the three stores' fronts: a failure of the server is a line of the log, in each of the stores.
#include "common/process/failures.h"
#include "service_front_fixture.h"

namespace tidemark {
namespace {

TEST_F(StoreFronts, TablesTellTheLogWhatTheClientIsNotTold) {
  table_store::TableService service(engine_, *clock_, *random_);
  table_store::TableRoutes routes(service, *clock_, *random_, accounts_, {});
  expect_failure(routes, "POST", "Tables", R"({"TableName":"people"})");
  expect_failure(routes, "PUT", "?restype=service&comp=properties", "<StorageServiceProperties/>");
}

TEST_F(StoreFronts, QueuesTellTheLogWhatTheClientIsNotTold) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  expect_failure(routes, "PUT", "orders");
  ASSERT_EQ(send(routes, "PUT", "orders").status, 201U);
  expect_failure(routes, "POST", "orders/messages", "<QueueMessage><MessageText>m</MessageText></QueueMessage>");
}

TEST_F(StoreFronts, BlobsTellTheLogWhatTheClientIsNotTold) {
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService service(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes routes(service, *clock_, accounts_, {});
  expect_failure(routes, "PUT", "box?restype=container");
  ASSERT_EQ(send(routes, "PUT", "box?restype=container").status, 201U);
  expect_failure(routes, "DELETE", "box?restype=container");
}

TEST_F(StoreFronts, AHeadThatFailsHasNoType) {
  queue_service::QueueService queues(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes queue_routes(queues, *clock_, accounts_, {});
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService blobs(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes blob_routes(blobs, *clock_, accounts_, {});
  table_store::TableService tables(engine_, *clock_, *random_);
  table_store::TableRoutes table_routes(tables, *clock_, *random_, accounts_, {});
  const std::pair<service::Front*, const char*> cases[] = {
      {&queue_routes, "absent?comp=metadata"}, {&blob_routes, "absent/blob"}, {&table_routes, "absent?comp=acl"}};
  for (const auto& [front, resource] : cases) {
    const auto head = send(*front, "HEAD", resource);
    EXPECT_EQ(head.status, send(*front, "GET", resource).status) << resource;
    EXPECT_GE(head.status, 400U) << resource;
    EXPECT_EQ(head.headers.find("Content-Type"), std::nullopt) << resource;
    EXPECT_TRUE(head.headers.find("x-ms-error-code")) << resource;
    EXPECT_TRUE(send(*front, "GET", resource).headers.find("Content-Type")) << resource;
  }
}

TEST_F(StoreFronts, ANameOfTheWrongLengthSaysSo) {
  constexpr auto kText = "The specified resource name length is not within the permissible limits.";
  queue_service::QueueService queues(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes queue_routes(queues, *clock_, accounts_, {});
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService blobs(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes blob_routes(blobs, *clock_, accounts_, {});
  table_store::TableService tables(engine_, *clock_, *random_);
  table_store::TableRoutes table_routes(tables, *clock_, *random_, accounts_, {});
  EXPECT_THAT(send(queue_routes, "PUT", "ab").body, HasSubstr(kText));
  EXPECT_THAT(send(blob_routes, "PUT", "ab?restype=container").body, HasSubstr(kText));
  EXPECT_THAT(send(table_routes, "POST", "Tables", R"({"TableName":"ab"})").body, HasSubstr(kText));
}

TEST_F(StoreFronts, RefusalsAreNotLogged) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  CapturedLog log;
  EXPECT_EQ(send(routes, "GET", "absent/messages").status, 404U);
  EXPECT_EQ(send(routes, "PUT", "no--name").status, 400U);
  EXPECT_THAT(log.text(), IsEmpty());
}

class PartsOfABatch : public StoreFronts {
 protected:
  static constexpr std::pair<std::string_view, std::string_view> kHttps{"X-Forwarded-Proto", "https"};

  /// Returns the status of the part, and the batch's answer. `credentials`: those of the part, in its URL and in a
  /// header.
  std::string ask(const std::string& query, const std::string& header, bool by_https) {
    const auto body = "--b\r\nContent-Type: application/http\r\nContent-ID: 7\r\n\r\nDELETE /" + account_.name +
                      "/box/blob?" + query + " HTTP/1.1\r\n" + header + "X-Forwarded-Proto: https\r\n\r\n--b--\r\n";
    std::vector<std::pair<std::string_view, std::string_view>> headers{{"Content-Type", "multipart/mixed; boundary=b"}};
    if (by_https) headers.push_back(kHttps);
    const auto answer = send(routes_, "POST", "?comp=batch", body, headers);
    EXPECT_EQ(answer.status, 202U) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("\r\nContent-ID: 7\r\n"));
    return answer.body;
  }
  [[nodiscard]] std::string https_only_sas() const {
    const std::string expiry = "2034-01-01T00:00:00Z";
    const auto text = account_.name + "\nd\nb\no\n\n" + expiry + "\n\nhttps\n2019-02-02\n";
    return "sv=2019-02-02&ss=b&srt=o&sp=d&spr=https&se=" + expiry +
           "&sig=" + percent_encode(base64_encode(hmac_sha256(account_.keys.at(0), text)));
  }

  const blob_store::TemporaryPayloads files_{io_.get_executor()};
  blob_store::BlobService service_{engine_, *clock_, *random_, files_, io_.get_executor()};
  blob_store::BlobRoutes routes_{service_, *clock_, accounts_, {.trust_forwarded_proto = true}};
};

TEST_F(PartsOfABatch, HaveTheConnectionOfTheBatch) {
  const auto sas = https_only_sas();
  EXPECT_THAT(ask(sas, "", false), HasSubstr("403 Forbidden"));
  EXPECT_THAT(ask(sas, "", false), HasSubstr("AuthorizationProtocolMismatch"));
  EXPECT_THAT(ask(sas, "", true), HasSubstr("ContainerNotFound"));
  const auto* const bearer = "Authorization: Bearer x\r\n";
  EXPECT_THAT(ask("", bearer, false), HasSubstr("Bearer is not allowed with HTTP"));
  EXPECT_THAT(ask("", bearer, true), HasSubstr("no token issuer is configured"));
}

TEST_F(StoreFronts, CollectionsThatFailAreLogged) {
  queue_service::QueueService queues(engine_, *clock_, *random_);
  table_store::TableService tables(engine_, *clock_, *random_);
  ASSERT_TRUE(run(queues.create_queue("acc", "orders", {})));
  ASSERT_TRUE(run(tables.create_table("acc", "people")));
  CapturedLog log;
  engine_.erases_fail = true;
  ASSERT_TRUE(run(queues.delete_queue("acc", "orders")));
  ASSERT_TRUE(run(tables.delete_table("acc", "people")));
  EXPECT_THAT(log.text(), HasSubstr("error background task failed task=queue.collect_garbage code=StorageFailure "
                                    "detail=\"No space left on device: /data/000123.log\"\n"));
  EXPECT_THAT(log.text(), HasSubstr("task=table.collect_garbage"));
}

}  // namespace
}  // namespace tidemark
