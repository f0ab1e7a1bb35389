// The blob service on the memory engine, in one shard or in several, and the tests' queries of its rows and files.
#pragma once
#include <gtest/gtest.h>

#include <set>

#include "blob_store/storage/blob_check.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/contents.h"
#include "tests/support/memory_shards.h"
#include "tests/support/repeating_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/task_runner.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark::blob_store {

class BlobServiceTest : public ::testing::Test, protected TaskRunner {
 protected:
  using Engines = std::vector<std::unique_ptr<kv::Engine>>;
  /// Makes as many shards as there are engines.
  explicit BlobServiceTest(std::uint64_t seed = 7, Engines engines = kv::make_memory_engines(1))
      : engines_(std::move(engines)), random_(make_seeded_random(seed)) {}

  void abandon(std::uint64_t payload) {
    service_.abandon(payload);
    run_background();
  }
  /// Uploads content for a blob of one shard, with any name.
  WrittenPayload upload(const std::string& content) { return upload_for("", content); }
  WrittenPayload upload_for(const std::string& name, const std::string& content) {
    auto writer = service_.new_payload(ref(name));
    for (std::size_t at = 0; at < content.size(); at += 100'000) {
      EXPECT_TRUE(run(writer.append(content.substr(at, 100'000))));
    }
    return *run(writer.finish());
  }
  void put(const std::string& name, const std::string& content) {
    EXPECT_TRUE(run(service_.put_blob(ref(name), {}, upload_for(name, content), {})));
  }
  void stage(const std::string& name, const std::string& id, const std::string& content) {
    EXPECT_TRUE(run(service_.put_block(ref(name), id, upload_for(name, content))));
  }
  void append(const std::string& name, const std::string& content) {
    EXPECT_TRUE(run(service_.append_block(ref(name), upload_for(name, content), {}, {})));
  }
  /// Deleted blobs are retained for so many days from now on; 0: not at all.
  void retain(int days) {
    const auto change = [days](const std::string&) -> Result<std::string> {
      const auto policy = days > 0 ? "<Enabled>true</Enabled><Days>" + std::to_string(days) + "</Days>"
                                   : std::string("<Enabled>false</Enabled>");
      return "<StorageServiceProperties><DeleteRetentionPolicy>" + policy +
             "</DeleteRetentionPolicy></StorageServiceProperties>";
    };
    ASSERT_TRUE(run(service_.set_service_properties("acc", change)));
  }
  Stamp snapshot(const std::string& name) { return run(service_.snapshot_blob(ref(name), {}, {}))->snapshot; }
  void drop_snapshot(const std::string& name, Stamp version) {
    auto dropped = ref(name);
    dropped.snapshot = version;
    EXPECT_TRUE(run(service_.delete_blob(dropped, DeleteSnapshots::kNone, {})));
  }
  static BlobRef ref(const std::string& name) { return {"acc", "box", name}; }
  static Result<std::string> drain(ContentReader reader) {
    std::string out;
    while (true) {
      auto piece = TRY(reader.next());
      if (piece.empty()) return out;
      out += piece;
    }
  }
  Result<std::string> read(const std::string& name, std::uint64_t offset = 0,
                           std::optional<std::uint64_t> length = std::nullopt) {
    auto opened = TRY(service_.open_blob(ref(name), {}));
    return drain(opened.read(offset, length.value_or(opened.blob.size - offset)));
  }
  /// Returns the keys of this kind on all shards.
  std::set<std::string> keys_of(char kind) {
    std::set<std::string> found;
    for (const auto& engine : engines_) {
      const auto snapshot = engine->snapshot();
      const auto cursor = snapshot->scan(blob_keys::all(kind));
      for (; cursor->valid(); cursor->next()) found.emplace(cursor->key());
    }
    return found;
  }
  /// Makes one pass of each shard's collector.
  void collect() {
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      ASSERT_TRUE(run(service_.collector(shard).collect()));
    }
  }
  kv::CheckReport checked(std::size_t at_once = kReferencesAtOnce) {
    kv::CheckRun check;
    std::vector<const kv::Engine*> shards;
    for (const auto& engine : engines_) shards.push_back(engine.get());
    const PayloadFiles& files = files_;
    EXPECT_TRUE(check_blobs(shards, stored_.placement, files.directory(), check, at_once));
    return check.report();
  }
  std::set<std::uint64_t> stored_payloads() {
    std::set<std::uint64_t> ids;
    for (const auto& key : keys_of('P')) ids.insert(blob_keys::number(key));
    for (const auto& path : files_.paths()) ids.insert(std::stoull(path.filename(), nullptr, 16));
    return ids;
  }
  void add_payloads(const Content& content, std::uint64_t size, std::set<std::uint64_t>& ids) {
    for (const auto& extent : *read_extents(*engine_->snapshot(), content, size, 0, 1'000'000))
      ids.insert(extent.payload);
  }
  std::set<std::uint64_t> referenced_payloads() {
    std::set<std::uint64_t> ids;
    const auto snapshot = engine_->snapshot();
    for (const auto& key : keys_of('B')) {
      const auto blob = records::kBlob.decode(**snapshot->get(key));
      add_payloads(blob->content, blob->size, ids);
    }
    for (const char kind : {blob_keys::kSnapshot, blob_keys::kDeleted}) {
      for (const auto& key : keys_of(kind)) {
        const auto kept = records::kKeptBlob.decode(**snapshot->get(key));
        add_payloads(kept->blob.content, kept->blob.size, ids);
      }
    }
    for (const auto& key : keys_of('K')) ids.insert(records::kStagedBlock.decode(**snapshot->get(key))->payload);
    ids.erase(0);
    return ids;
  }
  std::string content(std::size_t size) { return random_bytes(*random_, size); }

  void SetUp() override {
    service_.start();
    ASSERT_TRUE(run(service_.create_container({"acc", "box"}, {}, "")));
  }

  Engines engines_;
  std::unique_ptr<kv::Engine>& engine_ = engines_.front();
  std::unique_ptr<Clock> clock_ = kv::make_repeatable_clock();
  std::unique_ptr<Random> random_;
  TemporaryPayloads files_{io_.get_executor()};
  const shards::Shards stored_ = kv::shards_of(engines_, *clock_);
  BlobService service_{stored_, *clock_, *random_, files_, io_.get_executor()};
};

}  // namespace tidemark::blob_store
