// Tags and tiers, and the search for blobs by tags.
#include "blob_store/storage/blob_tags.h"

#include <algorithm>

#include "blob_store/model/tags.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"

namespace tidemark::blob_store {
namespace {

const FailStep kSetTagsStep("blob.set_tags");
const FailStep kSetTierStep("blob.set_tier");

/// The number of blobs and containers that one page looks at.
constexpr std::size_t kMaxLooks = 5000;

void index_tags(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before,
                const Tags& after) {
  if (before == after) return;
  for (const auto& [key, value] : before) txn.erase(blob_keys::tag(generation, key, value, name));
  for (const auto& [key, value] : after) txn.put(blob_keys::tag(generation, key, value, name), {});
  if (after.empty()) txn.erase(blob_keys::tagged(generation, name));
  if (before.empty()) txn.put(blob_keys::tagged(generation, name), {});
}

class Finder {
 public:
  using ShardRows = std::vector<std::shared_ptr<const kv::Reader>>;
  Finder(const ShardRows& shards, const TagFind& find) : shards_(shards), find_(find) {
    const auto slash = std::min(find.from.name.find('/'), find.from.name.size());
    from_container_ = find.from.name.substr(0, slash);
    from_name_ = find.from.name.substr(std::min(slash + 1, find.from.name.size()));
  }

  Result<void> look_everywhere(const std::string& account) {
    const auto cursor = shards_.front()->scan(blob_keys::containers(account, "", from_container_));
    for (; cursor->valid() && !full_; cursor->next()) {
      const auto name = blob_keys::container_name(cursor->key());
      if (!name) return fail(ErrorCode::kCorruption);
      if (looks_ == kMaxLooks) {
        stop(*name, "");
        break;
      }
      ++looks_;
      TRY(look_into(*name, TRY(records::kContainer.decode(cursor->value())).generation));
    }
    return cursor->status();
  }

  Result<void> look_into(const std::string& container, std::uint64_t generation) {
    const auto prefix = narrowest(generation);
    auto range = kv::under(prefix);
    if (container == from_container_) range.lower.append(from_name_);
    shards::MergedScan cursor(shards_, range);
    for (; cursor.valid(); cursor.next()) {
      const std::string name(cursor.key().substr(prefix.size()));
      if (looks_ == kMaxLooks || page_.items.size() == find_.limit) {
        stop(container, name);
        break;
      }
      ++looks_;
      auto blob = TRY(find_blob(*shards_[cursor.shard()], generation, name));
      if (blob && find_.search.matches(blob->tags)) {
        page_.items.push_back({container, name, named_tags(std::move(blob->tags))});
      }
    }
    return cursor.status();
  }

  ListPage<FoundBlob> take() { return std::move(page_); }

 private:
  /// Returns the blobs with the first tag that must have one value; without such a tag, all that have tags.
  [[nodiscard]] std::string narrowest(std::uint64_t generation) const {
    const auto& terms = find_.search.terms;
    const auto term = std::ranges::find(terms, TagOperator::kEqual, &TagTerm::op);
    return term == terms.end() ? blob_keys::with_tags(generation)
                               : blob_keys::with_tag(generation, term->key, term->value);
  }
  [[nodiscard]] Tags named_tags(Tags tags) const {
    std::erase_if(tags, [&](const auto& tag) {
      return std::ranges::find(find_.search.terms, tag.first, &TagTerm::key) == find_.search.terms.end();
    });
    return tags;
  }
  void stop(const std::string& container, const std::string& name) {
    page_.next.name = container + "/" + name;
    full_ = true;
  }

  const ShardRows& shards_;
  const TagFind& find_;
  std::string from_container_, from_name_;
  ListPage<FoundBlob> page_;
  std::size_t looks_ = 0;
  bool full_ = false;
};

}  // namespace

void put_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before,
                  const Blob& blob) {
  index_tags(txn, generation, name, before, blob.tags);
  txn.put(blob_keys::blob(generation, name), records::kBlob.encode(blob));
}

void erase_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before) {
  index_tags(txn, generation, name, before, {});
  txn.erase(blob_keys::blob(generation, name));
}

Task<Result<void>> BlobService::set_tags(BlobRef ref, Tags tags, Conditions conditions) {
  tags = CO_TRY(checked_tags(std::move(tags)));
  co_return co_await change_settled(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        const auto generation = TRY(find_generation(txn, place, ref.parent()));
        auto found = TRY(find_version(txn, generation, ref));
        if (!found) return fail(ErrorCode::kBlobNotFound);
        // A snapshot has no lease, and no search finds it.
        TRY(ref.snapshot ? admit_read(conditions, *found, clock_.now())
                         : admit_write(conditions, found, false, clock_.now()));
        const auto before = std::exchange(found->tags, tags);
        if (ref.snapshot) {
          put_version(txn, generation, ref, *found);
        } else {
          put_blob_row(txn, generation, ref.name, before, *found);
        }
        return {};
      },
      kSetTagsStep);
}

Task<Result<bool>> BlobService::set_tier(BlobRef ref, std::string tier, Conditions conditions) {
  bool rehydrated = false;
  CO_TRY(co_await change_settled(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        const auto generation = TRY(find_generation(txn, place, ref.parent()));
        auto found = TRY(find_version(txn, generation, ref));
        if (!found) return fail(ErrorCode::kBlobNotFound);
        auto& blob = *found;
        if (!may_have_tier(blob.type, tier)) {
          const bool block = blob.type == BlobType::kBlock;
          return fail(block ? ErrorCode::kInvalidHeaderValue : ErrorCode::kInvalidBlobType);
        }
        // Like a read, it needs no lease.
        TRY(admit_read(conditions, blob, clock_.now()));
        rehydrated = is_archived(blob) && tier != kArchive;
        if (blob.tier != tier) blob.tier_changed = clock_.now();
        blob.tier = tier;
        put_version(txn, generation, ref, blob);
        return {};
      },
      kSetTierStep));
  co_return rehydrated;
}

Result<ListPage<FoundBlob>> BlobService::find_by_tags(const std::string& account, const TagFind& find) const {
  const auto rows = shards::snapshots_of(stored_);
  const auto& snapshot = rows.front();
  Finder finder(rows, find);
  const auto& named = find.search.container;
  if (!find.container.empty()) {
    const auto container = TRY(find_container(*snapshot, {account, find.container}));
    TRY(finder.look_into(find.container, container.generation));
  } else if (named) {
    const auto container = find_container(*snapshot, {account, *named});
    if (!container && http_status_of(container.error().code) >= 500) return fail(container.error());
    if (container) TRY(finder.look_into(*named, container->generation));
  } else {
    TRY(finder.look_everywhere(account));
  }
  return finder.take();
}

}  // namespace tidemark::blob_store
