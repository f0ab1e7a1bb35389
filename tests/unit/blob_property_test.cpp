// Blobs, blocks, snapshots, copies, leases and retained deletions at random, beside a naive model; in the end nothing
// is left of what was deleted.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_service.h"
#include "tests/support/memory_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark::blob_store {
namespace {

struct ModelBlob {
  std::string content;
  std::map<std::string, std::string> staged;
  std::vector<std::pair<std::string, std::string>> blocks;  // id and content
  std::map<std::uint64_t, std::string> snapshots;
  bool there = false;
  std::string lease;
};

class BlobProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    asio::co_spawn(io_, std::move(task), [&](const std::exception_ptr& thrown, T value) {
      EXPECT_FALSE(thrown);
      out.emplace(std::move(value));
    });
    io_.restart();
    io_.run();
    return std::move(*out);
  }
  static BlobRef ref(const std::string& name, std::optional<Stamp> snapshot = {}) {
    return {"acc", "box", name, snapshot};
  }
  std::string some_content() {
    const std::size_t size = random_->below(8) == 0 ? 200'000 + random_->below(500'000) : random_->below(40);
    std::string out(size, '\0');
    for (auto& c : out) c = static_cast<char>(random_->below(256));
    return out;
  }
  WrittenPayload upload(const std::string& content) {
    auto writer = service_.new_payload();
    EXPECT_TRUE(run(writer.append(content)));
    return *run(writer.finish());
  }
  std::string read(const BlobRef& where) {
    const auto opened = service_.open_blob(where, {});
    if (!opened) return "not there";
    auto reader = opened->read(0, opened->blob.size);
    std::string out;
    for (auto piece = reader.next(); !piece->empty(); piece = reader.next()) out += *piece;
    return out;
  }
  std::string a_name() { return "n" + std::to_string(random_->below(4)); }
  Conditions with_lease(const std::string& name) {
    Conditions conditions;
    conditions.lease_id = model_[name].lease;
    return conditions;
  }

  void put(const std::string& name) {
    const auto content = some_content();
    ASSERT_TRUE(run(service_.put_blob(ref(name), {}, upload(content), with_lease(name))));
    auto& blob = model_[name];
    blob.content = content;
    blob.blocks.clear();
    blob.staged.clear();
    blob.there = true;
  }
  void stage(const std::string& name) {
    const auto id = "id0" + std::to_string(random_->below(3)) + "aaa";
    const auto content = some_content();
    ASSERT_TRUE(run(service_.put_block(ref(name), id, upload(content), model_[name].lease)));
    model_[name].staged[id] = content;
  }
  void commit(const std::string& name) {
    auto& blob = model_[name];
    std::vector<BlockChoice> choices;
    std::vector<std::pair<std::string, std::string>> blocks;
    for (const auto& [id, content] : blob.blocks) {
      if (random_->below(3) == 0) continue;
      choices.push_back({BlockSource::kCommitted, id});
      blocks.emplace_back(
          id, std::ranges::find(blob.blocks.rbegin(), blob.blocks.rend(), id, [](auto& b) { return b.first; })->second);
    }
    for (const auto& [id, content] : blob.staged) {
      for (auto times = random_->below(3); times > 0; --times) {
        choices.push_back({BlockSource::kUncommitted, id});
        blocks.emplace_back(id, content);
      }
    }
    ASSERT_TRUE(run(service_.put_block_list(ref(name), choices, {}, with_lease(name))));
    blob.blocks = blocks;
    blob.content.clear();
    for (const auto& block : blocks) blob.content += block.second;
    blob.staged.clear();
    blob.there = true;
  }
  void snapshot(const std::string& name) {
    const auto made = run(service_.snapshot_blob(ref(name), {}, {}));
    ASSERT_EQ(made.has_value(), model_[name].there);
    if (made) model_[name].snapshots[made->snapshot.ticks] = model_[name].content;
  }
  void drop_snapshot(const std::string& name) {
    auto& snapshots = model_[name].snapshots;
    if (snapshots.empty()) return;
    const auto at = std::next(snapshots.begin(), static_cast<std::ptrdiff_t>(random_->below(snapshots.size())));
    ASSERT_TRUE(run(service_.delete_blob(ref(name, Stamp{at->first}), DeleteSnapshots::kNone, {})));
    snapshots.erase(at);
  }
  void copy(const std::string& from, const std::string& to) {
    CopyRequest request;
    request.source = ref(from);
    auto& source = model_[from];
    std::string content = source.content;
    auto blocks = source.blocks;
    if (!source.snapshots.empty() && random_->below(2) == 0) {
      request.source.snapshot = Stamp{source.snapshots.begin()->first};
      content = source.snapshots.begin()->second;
      blocks.clear();
    }
    const auto made = run(service_.copy_blob(request, ref(to), with_lease(to)));
    ASSERT_EQ(made.has_value(), request.source.snapshot || source.there);
    if (!made) return;
    auto& blob = model_[to];
    blob.content = content;
    blob.there = true;
    blob.staged.clear();
    blob.blocks = request.source.snapshot ? committed(to) : blocks;
  }
  /// As the store tells them.
  std::vector<std::pair<std::string, std::string>> committed(const std::string& name) {
    std::vector<std::pair<std::string, std::string>> blocks;
    const auto content = read(ref(name));
    const auto lists = service_.get_block_lists(ref(name));
    for (const auto& extent : lists->committed) {
      blocks.emplace_back(extent.block_id, content.substr(extent.start, extent.size));
    }
    return blocks;
  }
  void erase(const std::string& name) {
    auto& blob = model_[name];
    const auto done = run(service_.delete_blob(ref(name), DeleteSnapshots::kInclude, with_lease(name)));
    ASSERT_EQ(done.has_value(), blob.there);
    if (done) blob = {};
  }
  void lease(const std::string& name) {
    auto& blob = model_[name];
    LeaseRequest request;
    request.action = blob.lease.empty() ? LeaseAction::kAcquire : LeaseAction::kRelease;
    request.id = blob.lease;
    request.proposed = random_->guid();
    const auto done = run(service_.lease_blob(ref(name), request, {}));
    ASSERT_EQ(done.has_value(), blob.there);
    if (done) blob.lease = blob.lease.empty() ? request.proposed : std::string();
  }

  void step() {
    const auto name = a_name();
    switch (random_->below(9)) {
      case 0:
        return put(name);
      case 1:
      case 2:
        return stage(name);
      case 3:
        return commit(name);
      case 4:
        return snapshot(name);
      case 5:
        return drop_snapshot(name);
      case 6:
        return copy(name, a_name());
      case 7:
        return random_->below(3) == 0 ? erase(name) : lease(name);
      default:
        ASSERT_TRUE(run(service_.collector().collect()));
    }
  }
  void compare() {
    for (const auto& [name, blob] : model_) {
      ASSERT_EQ(read(ref(name)), blob.there ? blob.content : "not there") << name;
      for (const auto& [version, content] : blob.snapshots) {
        ASSERT_EQ(read(ref(name, Stamp{version})), content) << name << " at " << version;
      }
    }
  }
  std::size_t count_of(char kind) {
    std::size_t count = 0;
    const auto snapshot = engine_->snapshot();
    const auto cursor = snapshot->scan(blob_keys::all(kind));
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
  }

  asio::io_context io_;
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Random> random_ = make_seeded_random(GetParam());
  TemporaryPayloads files_{io_.get_executor()};
  BlobService service_{*engine_, *clock_, *random_, files_, io_.get_executor()};
  std::map<std::string, ModelBlob> model_;
};

TEST_P(BlobProperty, AgreesWithTheModelAndLeavesNothing) {
  ASSERT_TRUE(run(service_.create_container({"acc", "box"}, {}, "")));
  for (int i = 0; i < 600; ++i) {
    step();
    if (HasFatalFailure()) FAIL() << "at step " << i;
    if (i % 20 == 0) compare();
  }
  compare();
  for (const auto& [name, blob] : model_) {
    if (!blob.there) ASSERT_TRUE(run(service_.put_blob(ref(name), {}, upload("x"), {})));
    ASSERT_TRUE(run(service_.delete_blob(ref(name), DeleteSnapshots::kInclude, with_lease(name))));
  }
  ASSERT_TRUE(run(service_.collector().collect()));
  for (const char kind : {'B', 'D', 'E', 'K', 'P', 'Q', 'R', 'S', 'U', 'X'}) EXPECT_EQ(count_of(kind), 0U) << kind;
  EXPECT_TRUE(files_.paths().empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, BlobProperty, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace tidemark::blob_store
