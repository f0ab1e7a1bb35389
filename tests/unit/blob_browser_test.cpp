// BlobBrowser against the dispatch: blobs as people see them, and uploads that become visible when they are whole.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "blob_store/client/blob_browser.h"
#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/storage/blob_service.h"
#include "tests/support/memory_engine.h"
#include "tests/support/repeating_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark::blob_store {
namespace {

class Loopback : public rpc::Transport {
 public:
  explicit Loopback(rpc::Dispatch dispatch) : dispatch_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration) override {
    co_return co_await dispatch_(std::move(method), std::move(payload));
  }

 private:
  rpc::Dispatch dispatch_;
};

class BlobBrowserTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(run(browser_.ensure_container("box"))); }

  template <class T>
  T run(Task<T> task) {
    auto future = asio::co_spawn(io_, std::move(task), asio::use_future);
    io_.restart();
    io_.run();
    return future.get();
  }
  void stage(const std::string& name, const std::string& upload, std::uint32_t index, const std::string& bytes) {
    ASSERT_TRUE(run(browser_.upload_piece("box", name, upload, index, bytes)));
  }
  Result<void> finish(const std::string& name, const std::string& upload, std::uint32_t count,
                      const std::string& if_match = {}) {
    NewContent content;
    content.headers.type = "text/plain";
    return run(browser_.finish_upload("box", name, upload, count, std::move(content), if_match));
  }
  void put(const std::string& name, const std::string& bytes) {
    stage(name, "an upload of " + name, 0, bytes);
    ASSERT_TRUE(finish(name, "an upload of " + name, 1));
  }
  std::string content(const std::string& name) {
    auto piece = run(browser_.read("box", name, 0, {}));
    return piece && *piece ? (*piece)->bytes : "(missing)";
  }
  std::string etag(const std::string& name) { return run(browser_.inspect("box", name))->etag; }

  asio::io_context io_;
  std::unique_ptr<Clock> clock_ = kv::make_repeatable_clock();
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  TemporaryPayloads files_{io_.get_executor()};
  BlobService service_{*engine_, *clock_, *random_, files_, io_.get_executor()};
  Loopback loopback_{make_blob_dispatch(service_)};
  BlobBrowser browser_{loopback_, "devstoreaccount1"};
};

TEST_F(BlobBrowserTest, AnUploadHasNoTypeThatNobodyCouldRead) {
  stage("a", "one", 0, "bytes");
  NewContent content;
  content.headers.type = "text/\x01plain";
  EXPECT_TRUE(
      run(browser_.finish_upload("box", "a", "one", 1, content, "")).failed_with(ErrorCode::kInvalidHeaderValue));
  EXPECT_TRUE(run(browser_.inspect("box", "a")).failed_with(ErrorCode::kBlobNotFound));
}

TEST_F(BlobBrowserTest, AnUploadIsSeenWhenItIsWhole) {
  stage("a/b", "one", 0, "first ");
  stage("a/b", "one", 1, "second");
  EXPECT_EQ(run(browser_.inspect("box", "a/b")).error().code, ErrorCode::kBlobNotFound);
  ASSERT_TRUE(finish("a/b", "one", 2));
  EXPECT_EQ(content("a/b"), "first second");
  const auto facts = run(browser_.inspect("box", "a/b"));
  EXPECT_EQ(facts->size, 12U);
  EXPECT_EQ(facts->type, "BlockBlob");
  EXPECT_EQ(facts->headers.type, "text/plain");
  EXPECT_EQ(facts->tier, "Hot");
}

TEST_F(BlobBrowserTest, AnEmptyUploadIsAnEmptyBlob) {
  ASSERT_TRUE(finish("nothing", "one", 0));
  EXPECT_EQ(run(browser_.inspect("box", "nothing"))->size, 0U);
}

TEST_F(BlobBrowserTest, NothingIsReplacedButWhatWasSeen) {
  put("a", "old");
  const auto seen = etag("a");
  stage("a", "new", 0, "new");
  EXPECT_EQ(finish("a", "new", 1).error().code, ErrorCode::kBlobAlreadyExists);
  EXPECT_EQ(finish("a", "new", 1, "0x1").error().code, ErrorCode::kConditionNotMet);
  EXPECT_EQ(content("a"), "old");
  ASSERT_TRUE(finish("a", "new", 1, seen));
  EXPECT_EQ(content("a"), "new");
  stage("b", "new", 0, "new");
  EXPECT_FALSE(finish("b", "new", 1, "*"));
}

TEST_F(BlobBrowserTest, OfTwoUploadsOfOneBlobOneWins) {
  stage("a", "one", 0, "one");
  stage("a", "two", 0, "two");
  ASSERT_TRUE(finish("a", "two", 1));
  EXPECT_EQ(finish("a", "one", 1, "*").error().code, ErrorCode::kInvalidBlockList);
  EXPECT_EQ(content("a"), "two");
}

TEST_F(BlobBrowserTest, NamesFoldAtTheDelimiterAndPagesGoOnBehindThem) {
  for (const auto* name : {"a/1", "a/2", "b", "c/1"}) put(name, "x");
  std::vector<std::string> names;
  std::string from;
  do {
    const auto page = run(browser_.browse("box", "", "/", from, 1));
    ASSERT_TRUE(page && page->blobs.size() == 1);
    names.push_back(page->blobs[0].name + (page->blobs[0].facts ? "" : " (folded)"));
    from = page->next;
  } while (!from.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"a/ (folded)", "b", "c/ (folded)"}));
  EXPECT_EQ(run(browser_.browse("box", "a/", "/", "", 10))->blobs.size(), 2U);
  EXPECT_EQ(run(browser_.browse("none", "", "", "", 10)).error().code, ErrorCode::kContainerNotFound);
}

TEST_F(BlobBrowserTest, ABackslashInANameIsASlash) {
  put(R"(a\1)", "x");
  EXPECT_EQ(content("a/1"), "x");
  EXPECT_EQ(content(R"(a\1)"), "x");
  const auto page = run(browser_.browse("box", R"(a\)", "", "", 10));
  ASSERT_TRUE(page && page->blobs.size() == 1);
  EXPECT_EQ(page->blobs[0].name, "a/1");
  ASSERT_TRUE(run(browser_.remove("box", R"(a\1)", etag(R"(a\1)"), false)));
  EXPECT_EQ(content("a/1"), "(missing)");
}

TEST_F(BlobBrowserTest, ABlobIsRemovedAsItWasSeen) {
  put("a", "x");
  EXPECT_EQ(run(browser_.remove("box", "a", "0x1", false)).error().code, ErrorCode::kConditionNotMet);
  EXPECT_EQ(run(browser_.remove("box", "a", "", false)).error().code, ErrorCode::kInvalidInput);
  ASSERT_TRUE(run(service_.snapshot_blob({"devstoreaccount1", "box", "a"}, {}, {})));
  EXPECT_EQ(run(browser_.remove("box", "a", "*", false)).error().code, ErrorCode::kSnapshotsPresent);
  ASSERT_TRUE(run(browser_.remove("box", "a", etag("a"), true)));
  EXPECT_EQ(content("a"), "(missing)");
}

TEST_F(BlobBrowserTest, ContainersComeByPages) {
  for (const auto* name : {"bin", "cup"}) ASSERT_TRUE(run(browser_.ensure_container(name)));
  const auto page = run(browser_.containers("", "", 2));
  ASSERT_TRUE(page && page->containers.size() == 2);
  EXPECT_EQ(page->containers[0].name, "bin");
  EXPECT_EQ(run(browser_.containers("", page->next, 2))->containers.at(0).name, "cup");
  EXPECT_EQ(run(browser_.containers("bo", "", 10))->containers.at(0).name, "box");
}

}  // namespace
}  // namespace tidemark::blob_store
