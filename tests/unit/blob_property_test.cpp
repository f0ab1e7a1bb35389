// Blobs, blocks, snapshots, copies, leases and retained deletions at random, beside a naive model; in the end nothing
// is left of deleted blobs. tests/support/environment.h tells how to repeat a run or make it longer.
#include <map>

#include "tests/support/blob_service_fixture.h"
#include "tests/support/environment.h"

namespace tidemark::blob_store {
namespace {

struct ModelKept {
  std::string content;
  bool deleted = false;
  bool was_blob = false;  // when it was deleted
};

struct ModelBlob {
  std::string content;
  std::map<std::string, std::string> staged;
  std::vector<std::pair<std::string, std::string>> blocks;  // id and content
  std::vector<ModelKept> kept;                              // the oldest first
  bool there = false;
  std::string lease;
};

/// Parameters: seeds, and shards.
class BlobProperty : public BlobServiceTest,
                     public ::testing::WithParamInterface<std::tuple<std::uint64_t, std::size_t>> {
 protected:
  BlobProperty() : BlobServiceTest(std::get<0>(GetParam()), kv::make_memory_engines(std::get<1>(GetParam()))) {}

  static BlobRef ref(const std::string& name, std::optional<Stamp> snapshot = {}) {
    auto out = BlobServiceTest::ref(name);
    out.snapshot = snapshot;
    return out;
  }
  std::string some_content() {
    const std::size_t size = random_->below(8) == 0 ? 200'000 + random_->below(500'000) : random_->below(40);
    return random_bytes(*random_, size);
  }
  std::string read(const BlobRef& where) {
    const auto opened = service_.open_blob(where, {});
    if (!opened) return "not there";
    return *drain(opened->read(0, opened->blob.size));
  }
  std::string a_name() { return "n" + std::to_string(random_->below(4)); }
  Conditions with_lease(const std::string& name) {
    Conditions conditions;
    conditions.lease_id = model_[name].lease;
    return conditions;
  }

  /// Keeps the replaced or deleted content while retention is on.
  void discard(ModelBlob& blob, bool was_blob) const {
    if (blob.there && retains_) blob.kept.push_back({blob.content, true, was_blob});
  }
  /// Returns the retained blobs as the store lists them, the oldest first.
  std::vector<ListedBlob> listed_kept(const std::string& name) {
    ListRequest request;
    request.prefix = name;
    request.with_snapshots = request.with_deleted = true;
    request.limit = 1 + random_->below(40);
    std::vector<ListedBlob> found;
    do {
      auto page = service_.list_blobs({"acc", "box"}, request);
      EXPECT_TRUE(page);
      for (auto& item : page->items) {
        if (item.snapshot || item.deleted) found.push_back(std::move(item));
      }
      request.from = page->next;
    } while (!request.from.name.empty());
    return found;
  }
  /// Returns one of the existing snapshots, by its place among all that is retained.
  std::optional<std::size_t> some_snapshot(const std::string& name) {
    std::vector<std::size_t> live;
    const auto& kept = model_[name].kept;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i].deleted) live.push_back(i);
    }
    return live.empty() ? std::nullopt : std::optional(live[random_->below(live.size())]);
  }

  void put(const std::string& name) {
    const auto content = some_content();
    ASSERT_TRUE(run(service_.put_blob(ref(name), {}, upload_for(name, content), with_lease(name))));
    auto& blob = model_[name];
    discard(blob, false);
    blob.content = content;
    blob.blocks.clear();
    blob.staged.clear();
    blob.there = true;
  }
  void stage(const std::string& name) {
    const auto id = "id0" + std::to_string(random_->below(3)) + "aaa";
    const auto content = some_content();
    ASSERT_TRUE(run(service_.put_block(ref(name), id, upload_for(name, content), with_lease(name))));
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
    const auto done = run(service_.put_block_list(ref(name), choices, {}, with_lease(name)));
    ASSERT_TRUE(done) << azure_name_of(done.error().code);
    discard(blob, false);
    blob.blocks = blocks;
    blob.content.clear();
    for (const auto& block : blocks) blob.content += block.second;
    blob.staged.clear();
    blob.there = true;
  }
  void snapshot(const std::string& name) {
    const auto made = run(service_.snapshot_blob(ref(name), {}, {}));
    ASSERT_EQ(made.has_value(), model_[name].there);
    if (made) model_[name].kept.push_back({model_[name].content});
  }
  void drop_snapshot(const std::string& name) {
    const auto which = some_snapshot(name);
    if (!which) return;
    auto& kept = model_[name].kept;
    const auto version = *listed_kept(name).at(*which).snapshot;
    ASSERT_TRUE(run(service_.delete_blob(ref(name, version), DeleteSnapshots::kNone, {})));
    if (retains_) {
      kept[*which].deleted = true;
    } else {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(*which));
    }
  }
  void copy(const std::string& from, const std::string& to) {
    CopyRequest request;
    request.source = ref(from);
    auto& source = model_[from];
    std::string content = source.content;
    auto blocks = source.blocks;
    if (const auto which = some_snapshot(from); which && random_->below(2) == 0) {
      request.source.snapshot = listed_kept(from).at(*which).snapshot;
      content = source.kept[*which].content;
      blocks.clear();
    }
    const auto made = run(service_.copy_blob(request, ref(to), with_lease(to)));
    ASSERT_EQ(made.has_value(), request.source.snapshot || source.there);
    if (!made) return;
    auto& blob = model_[to];
    discard(blob, false);
    blob.content = content;
    blob.there = true;
    blob.staged.clear();
    blob.blocks = request.source.snapshot ? committed(to) : blocks;
  }
  /// Returns the committed blocks as the store lists them.
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
    ASSERT_EQ(done.has_value(), blob.there || !blob.staged.empty());
    if (!done) return;
    ASSERT_EQ(*done, !retains_ || !blob.there) << "whether it is gone for good";
    if (!blob.there) return blob.staged.clear();
    if (retains_) {
      for (auto& kept : blob.kept) kept.deleted = true;
    } else {
      std::erase_if(blob.kept, [](const ModelKept& kept) { return !kept.deleted; });
    }
    discard(blob, true);
    auto kept = std::move(blob.kept);
    blob = {};
    blob.kept = std::move(kept);
  }
  void undelete(const std::string& name) {
    auto& blob = model_[name];
    const auto done = run(service_.undelete_blob(ref(name)));
    const auto newest = std::ranges::find_if(blob.kept.rbegin(), blob.kept.rend(),
                                             [](const ModelKept& kept) { return kept.deleted && kept.was_blob; });
    ASSERT_EQ(done.has_value(), blob.there || newest != blob.kept.rend());
    if (!done) return;
    if (!blob.there) {
      blob.content = newest->content;
      blob.there = true;
      blob.kept.erase(std::next(newest).base());
      blob.blocks = committed(name);
    }
    for (auto& kept : blob.kept) kept.deleted = kept.was_blob = false;
  }
  void set_retention(bool on) {
    retain(on ? 7 : 0);
    retains_ = on;
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
    switch (random_->below(11)) {
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
      case 8:
        return undelete(name);
      case 9:
        return random_->below(3) == 0 ? set_retention(!retains_) : erase(name);
      default:
        collect();
    }
  }
  void compare() {
    for (const auto& [name, blob] : model_) {
      ASSERT_EQ(read(ref(name)), blob.there ? blob.content : "not there") << name;
      const auto listed = listed_kept(name);
      ASSERT_EQ(listed.size(), blob.kept.size()) << name;
      for (std::size_t i = 0; i < listed.size(); ++i) {
        ASSERT_EQ(listed[i].deleted.has_value(), blob.kept[i].deleted) << name << " at " << i;
        if (!listed[i].snapshot) continue;
        ASSERT_EQ(read(ref(name, *listed[i].snapshot)), listed[i].deleted ? "not there" : blob.kept[i].content)
            << name << " at " << i;
      }
    }
  }

  bool retains_ = false;
  std::map<std::string, ModelBlob> model_;
};

TEST_P(BlobProperty, AgreesWithTheModelAndLeavesNothing) {
  const auto steps = test_size(400);
  for (std::uint64_t i = 0; i < steps; ++i) {
    step();
    if (HasFatalFailure()) FAIL() << "at step " << i;
    if (i % 20 == 0) compare();
  }
  compare();
  run_background();
  EXPECT_EQ(checked().found, 0U);
  set_retention(false);
  for (const auto& [name, blob] : model_) {
    if (!blob.there) ASSERT_TRUE(run(service_.put_blob(ref(name), {}, upload_for(name, "x"), {})));
    ASSERT_TRUE(run(service_.undelete_blob(ref(name))));
    ASSERT_TRUE(run(service_.delete_blob(ref(name), DeleteSnapshots::kInclude, with_lease(name))));
  }
  collect();
  for (const char kind : {'B', 'D', 'E', 'K', 'P', 'Q', 'R', 'S', 'U', 'V', 'X', 'Z'}) {
    EXPECT_TRUE(keys_of(kind).empty()) << kind;
  }
  EXPECT_TRUE(files_.paths().empty());
}

const auto kFirstSeed = test_seed();
INSTANTIATE_TEST_SUITE_P(Seeds, BlobProperty,
                         ::testing::Combine(::testing::Range<std::uint64_t>(kFirstSeed, kFirstSeed + 3),
                                            ::testing::Values(1, 8)));

}  // namespace
}  // namespace tidemark::blob_store
