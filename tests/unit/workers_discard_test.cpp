// Entities that are deleted together with the blobs they point to, and blobs that nothing points to, end to end in one
// thread.
#include <nlohmann/json.hpp>

#include "jobs/plan/plan.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kDiscard =
    R"({"kind":"discard","source":"Source","filter":"Number lt 10","property":"Photo","container":"photos","maxAttempts":50})";
constexpr const char* kFind =
    R"({"kind":"orphans","source":"Source","property":"Photo","container":"photos","prefix":"p/","graceHours":0})";
constexpr const char* kRemove =
    R"({"kind":"orphans","source":"Source","property":"Photo","container":"photos","graceHours":0,"remove":true,"maxAttempts":50})";

class WorkersDiscard : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    ASSERT_TRUE(run(blobs_.ensure_container("photos")).has_value());
  }
  void put_blob(const std::string& name) {
    ASSERT_TRUE(run(blob_service_.create_append_blob({kAccount, "photos", name, {}}, {}, {})).has_value());
  }
  void put_entity(const std::string& row, int number, std::optional<std::string> photo) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"Number", number}};
    if (photo) mutation.properties.push_back({"Photo", std::move(*photo)});
    ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  }
  /// Writes an entity with its blob.
  void put_pair(const std::string& row, int number) {
    put_blob("p/" + row);
    put_entity(row, number, "p/" + row);
  }
  std::vector<std::string> blob_names() {
    auto listed = run(blobs_.list("photos", "", ""));
    return listed ? listed->names : std::vector<std::string>();
  }
  std::vector<std::string> rows() {
    std::vector<std::string> out;
    for (const auto& entity : all("Source")) out.push_back(entity.row_key);
    return out;
  }
  nlohmann::json result_of(const jobs::JobRecord& job) { return nlohmann::json::parse(job.result); }
  Task<Result<void>> change_directly(Mutation mutation) {
    auto changed = co_await table_service_.mutate(kAccount, "Source", "p", {std::move(mutation)}, std::nullopt);
    if (!changed) co_return fail(std::move(changed.error()));
    co_return Result<void>{};
  }
  using Texts = std::vector<std::string>;
  bool looked_at_blob_ = false;
};

TEST_F(WorkersDiscard, RemovesWhatIsSelectedWithItsBlobs) {
  for (int i = 0; i < 5; ++i) put_pair("a" + std::to_string(i), i);
  put_pair("b", 10);
  put_entity("c", 1, "p/never-there");
  put_entity("d", 1, std::nullopt);
  put_blob("p/nobody");
  const auto job = finish(kDiscard);
  EXPECT_EQ(job.done, 6U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(rows(), (Texts{"b", "d"}));
  EXPECT_EQ(blob_names(), (Texts{"p/b", "p/nobody"}));
}

TEST_F(WorkersDiscard, WithoutTheContainerNothingIsRemoved) {
  for (int i = 0; i < 3; ++i) put_pair("a" + std::to_string(i), i);
  const auto no_container = [&](const std::string& text, const std::string& name) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    EXPECT_EQ(record(job.id).error, "The container '" + name + "' does not exist.");
    EXPECT_EQ(rows().size(), 3U);
  };
  for (const std::string which : {R"("filter":"")", R"("partitionKey":"p","rowKey":"a0")"}) {
    const auto text = R"({"kind":"discard","source":"Source","property":"Photo","container":"photoss",)" + which + "}";
    no_container(text, "photoss");
    const auto plan = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, {}, {}}}, *jobs::parse_job_spec(text)));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->problems, Texts{"The container 'photoss' does not exist."});
  }
  // A container that a user drops while the job runs.
  bool listed = false;
  blob_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method == "blob.list") listed = true;
    if (method == "blob.read" && std::exchange(listed, false)) {
      CO_TRY(co_await blob_service_.delete_container({kAccount, "photos"}, {}));
    }
    co_return Result<void>{};
  };
  no_container(kDiscard, "photos");
}

TEST_F(WorkersDiscard, AContainerThatIsDroppedOnceAllIsDoneIsNoFailure) {
  put_pair("a", 1);
  const auto job = submit(kDiscard);
  table_link_.before = [&, lost = std::make_shared<bool>(false)](const std::string& method) -> Task<Result<void>> {
    // The blob store has closed the operation.
    if (method != "table.close" || std::exchange(*lost, true)) co_return Result<void>{};
    CO_TRY(co_await blob_service_.delete_container({kAccount, "photos"}, {}));
    co_return fail(ErrorCode::kUnavailable);
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 1U);
}

TEST_F(WorkersDiscard, NothingIsHalfDoneWhateverIsLost) {
  survives_a_loss_anywhere(
      kDiscard,
      [&] {
        for (int i = 0; i < 3; ++i) put_pair("a" + std::to_string(i), i);
        put_pair("kept", 10);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 3U);
        EXPECT_EQ(rows(), Texts{"kept"});
        EXPECT_EQ(blob_names(), Texts{"p/kept"});
      });
}

TEST_F(WorkersDiscard, NoEntityIsEverWithoutItsBlob) {
  for (int i = 0; i < 4; ++i) put_pair("a" + std::to_string(i), i);
  int looked = 0;
  blob_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method != "blob.discard") co_return Result<void>{};
    ++looked;
    auto page = blob_service_.list_blobs({kAccount, "photos"}, {});
    std::size_t entities = 0;
    for (int i = 0; i < 4; ++i) {
      const auto found = table_service_.get(kAccount, "Source", "p", "a" + std::to_string(i));
      if (found && *found) ++entities;
    }
    EXPECT_LT(entities, page->items.size());
    co_return Result<void>{};
  };
  finish(kDiscard);
  EXPECT_EQ(looked, 4);
}

TEST_F(WorkersDiscard, ABlobThatWasWrittenAgainOrIsLeasedStays) {
  put_pair("a", 1);
  put_pair("b", 1);
  blob_store::LeaseRequest acquire;
  acquire.action = blob_store::LeaseAction::kAcquire;
  acquire.duration_s = -1;
  acquire.proposed = random_->guid();
  ASSERT_TRUE(run(blob_service_.lease_blob({kAccount, "photos", "p/b", {}}, acquire, {})).has_value());
  bool written = false;
  blob_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method == "blob.discard" && !std::exchange(written, true)) {
      CO_TRY(co_await blob_service_.create_append_blob({kAccount, "photos", "p/a", {}}, {}, {}));
    }
    co_return Result<void>{};
  };
  EXPECT_EQ(finish(kDiscard).done, 2U);
  EXPECT_EQ(rows(), Texts{});
  EXPECT_EQ(blob_names(), (Texts{"p/a", "p/b"}));
}

TEST_F(WorkersDiscard, ABlobWhoseEntityIsStillThereStaysAlsoForTheNextAttempt) {
  put_pair("a", 1);
  bool noted = false, lost = false;
  queue_link_.before = [&](const std::string&) -> Task<Result<void>> {
    noted = looked_at_blob_;
    co_return Result<void>{};
  };
  blob_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    looked_at_blob_ = looked_at_blob_ || method == "blob.read";
    co_return Result<void>{};
  };
  table_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method != "table.mutate" || !noted || std::exchange(lost, true)) co_return Result<void>{};
    // The owner gives the entity another blob, and the old blob to another entity; then the attempt fails.
    for (const auto& [row, photo] : {std::pair{"a", "p/new"}, {"b", "p/a"}}) {
      Mutation mutation;
      mutation.kind = MutationKind::kInsertOrReplace;
      mutation.row_key = row;
      mutation.properties = {{"Number", 10}, {"Photo", std::string(photo)}};
      CO_TRY(co_await change_directly(std::move(mutation)));
    }
    co_return fail(ErrorCode::kUnavailable);
  };
  const auto job = submit(kDiscard);
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_TRUE(lost);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 0U);
  EXPECT_EQ(blob_names(), Texts{"p/a"});
}

TEST_F(WorkersDiscard, OrphansAreFoundAndLeft) {
  put_pair("a", 1);
  put_blob("p/nobody");
  put_blob("q/of-another-prefix");
  const auto job = finish(kFind);
  EXPECT_EQ(result_of(job), nlohmann::json::parse(R"({"orphans":1,"removed":0,"samples":["p/nobody"]})"));
  EXPECT_EQ(blob_names().size(), 3U);
}

TEST_F(WorkersDiscard, ANameWithBackslashesIsTheOneWithSlashes) {
  put_blob("p/2.jpg");
  put_entity("a", 1, R"(p\2.jpg)");
  put_blob("p/3.jpg");
  put_entity("b", 10, R"({"container":"photos","name":"p\\3.jpg","etag":"","size":0,"type":"Edm.String","sha256":""})");
  put_blob("p/nobody");
  const auto found = finish(
      R"({"kind":"orphans","source":"Source","property":"Photo","container":"photos","prefix":"p\\","graceHours":0})");
  EXPECT_EQ(result_of(found)["samples"], nlohmann::json(Texts{"p/nobody"}));
  EXPECT_EQ(finish(kRemove).done, 1U);
  EXPECT_EQ(blob_names(), (Texts{"p/2.jpg", "p/3.jpg"}));
  EXPECT_EQ(finish(kDiscard).done, 1U);
  EXPECT_EQ(blob_names(), Texts{"p/3.jpg"});
}

TEST_F(WorkersDiscard, WhatNoBlobCanBeCalledIsSkipped) {
  put_pair("a", 1);
  put_entity("b", 1, std::string(1025, 'x'));
  put_entity("c", 1, std::string("p/\0x", 4));
  put_entity("d", 1, "");
  const auto job = finish(kDiscard);
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 3U);
  EXPECT_EQ(finish(kRemove).done, 0U);
}

TEST_F(WorkersDiscard, YoungOrphansAreNotCounted) {
  put_blob("p/nobody");
  const auto job =
      finish(R"({"kind":"orphans","source":"Source","property":"Photo","container":"photos","remove":true})");
  EXPECT_EQ(result_of(job)["orphans"], 0);
  EXPECT_EQ(blob_names(), Texts{"p/nobody"});
}

TEST_F(WorkersDiscard, OrphansAreRemovedOnceWhateverIsLost) {
  survives_a_loss_anywhere(
      kRemove,
      [&] {
        put_pair("a", 1);
        put_blob("p/nobody");
        put_blob("p/nothing");
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 2U);
        EXPECT_EQ(result_of(job)["removed"], 2);
        EXPECT_EQ(blob_names(), Texts{"p/a"});
        EXPECT_EQ(rows(), Texts{"a"});
      });
}

}  // namespace
}  // namespace tidemark::workers
