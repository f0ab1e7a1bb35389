// Lists: the blobs of a container in the order of their names, together with kept blobs and with names that have only
// staged blocks. The cost of a page depends on its entries, not on how much folds into a common prefix. A page ends
// early if its rows are large; it may even be empty if it passes many kept blobs that the request does not ask for.
#include <algorithm>
#include <array>

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/kept_blobs.h"

namespace tidemark::blob_store {
namespace {

using ShardRows = std::vector<std::shared_ptr<const kv::Reader>>;

/// The names of one kind of rows of all shards, in order.
class Names {
 public:
  using NameOf = std::optional<std::string> (*)(std::string_view key);
  Names(const ShardRows& shards, kv::KeyRange range, NameOf name_of)
      : shards_(shards), range_(std::move(range)), name_of_(name_of) {
    open();
  }
  [[nodiscard]] bool valid() const { return name_.has_value(); }
  [[nodiscard]] const std::string& name() const { return *name_; }
  [[nodiscard]] std::string_view key() const { return cursor_->key(); }
  [[nodiscard]] std::string_view value() const { return cursor_->value(); }
  /// Returns the shard that has this row and all others of its name.
  [[nodiscard]] const kv::Reader& rows() const { return *shards_[cursor_->shard()]; }
  void next() {
    cursor_->next();
    read();
  }
  void skip_to(std::string key) {
    if (key <= cursor_->key()) return;
    range_.lower = std::move(key);
    open();
  }
  [[nodiscard]] Result<void> status() const { return cursor_->status(); }

 private:
  void open() {
    cursor_.emplace(shards_, range_);
    read();
  }
  void read() { name_ = cursor_->valid() ? name_of_(cursor_->key()) : std::nullopt; }
  const ShardRows& shards_;
  kv::KeyRange range_;
  NameOf name_of_;
  std::optional<shards::MergedScan> cursor_;
  std::optional<std::string> name_;
};

std::optional<std::string> name_of_blob(std::string_view key) { return std::string(blob_keys::blob_name(key)); }
std::optional<std::string> name_of_kept(std::string_view key) {
  auto kept = blob_keys::kept_key(key);
  return kept ? std::optional(std::move(kept->name)) : std::nullopt;
}
std::optional<std::string> name_of_staged(std::string_view key) {
  auto staged = blob_keys::named_key(key);
  return staged ? std::optional(std::move(staged->name)) : std::nullopt;
}

// Returns the part of `name` up to and with the first delimiter after the prefix; empty if there is none.
std::string_view common_prefix(std::string_view name, const ListRequest& request) {
  if (request.delimiter.empty()) return {};
  const auto at = name.find(request.delimiter, request.prefix.size());
  return at == std::string_view::npos ? std::string_view{} : name.substr(0, at + request.delimiter.size());
}

/// The limit on kept blobs that a page passes without listing them.
constexpr std::size_t kMostPassed = 5000;

/// The limit on the size of a page's rows, many of which may have much metadata.
constexpr std::size_t kMostBytes = 4UL << 20;

constexpr std::array kKeptKinds{blob_keys::kSnapshot, blob_keys::kDeleted};

class Listing {
 public:
  Listing(const ShardRows& shards, std::uint64_t generation, const ListRequest& request)
      : generation_(generation), request_(request) {
    const auto from = std::max(request.from.name, request.prefix);
    blobs_.emplace(shards, blob_keys::blobs(generation, request.prefix, from), &name_of_blob);
    if (request.with_snapshots || request.with_deleted) {
      for (const char kind : kKeptKinds) {
        kept_.emplace_back(shards, blob_keys::texts_from(kind, generation, request.prefix, from), &name_of_kept);
        skip_listed(kept_.back(), kind);
      }
    }
    if (request.with_uncommitted) {
      staged_.emplace(shards, blob_keys::texts_from('U', generation, request.prefix, from), &name_of_staged);
    }
  }

  Result<ListPage<ListedBlob>> page() {
    while (const auto name = first()) {
      if (const auto folded = common_prefix(*name, request_); !folded.empty()) {
        // No kept blob with the name of the prefix itself has been listed yet.
        if (full()) return stop({std::string(folded), Stamp{}});
        page_.items.push_back({.name = std::string(folded), .folded = true});
        bytes_ += folded.size();
        skip(folded);
        continue;
      }
      if (!TRY(add_kept(*name)) || !TRY(add_blob(*name)) || !TRY(add_staged(*name))) return std::move(page_);
    }
    for (const auto& names : kept_) TRY(names.status());
    for (const auto* names : {&blobs_, &staged_}) {
      if (*names) TRY((*names)->status());
    }
    return std::move(page_);
  }

 private:
  [[nodiscard]] bool full() const { return page_.items.size() == request_.limit || bytes_ >= kMostBytes; }
  ListPage<ListedBlob> stop(ListPlace place) {
    page_.next = std::move(place);
    return std::move(page_);
  }

  [[nodiscard]] std::optional<std::string> first() const {
    std::optional<std::string> least;
    const auto look_at = [&](const Names& names) {
      if (names.valid() && (!least || names.name() < *least)) least = names.name();
    };
    std::ranges::for_each(kept_, look_at);
    for (const auto* names : {&blobs_, &staged_}) {
      if (*names) look_at(**names);
    }
    return least;
  }

  /// Skips everything that folds into the same prefix, however much it is.
  void skip(std::string_view folded) {
    if (blobs_->valid()) blobs_->skip_to(kv::prefix_end(blob_keys::blob(generation_, folded)));
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i].valid()) continue;
      kept_[i].skip_to(kv::prefix_end(blob_keys::text_prefix(kKeptKinds[i], generation_, folded)));
    }
    if (staged_ && staged_->valid()) staged_->skip_to(kv::prefix_end(blob_keys::text_prefix('U', generation_, folded)));
  }

  /// Skips to the beginning of the page, past kept blobs of that name that have been listed already.
  void skip_listed(Names& names, char kind) const {
    const auto& from = request_.from;
    if (from.name.empty() || !names.valid() || names.name() != from.name) return;
    const auto all = blob_keys::all_kept(kind, generation_, from.name);
    names.skip_to(from.kept ? blob_keys::kept(kind, generation_, from.name, from.kept->ticks) : all.upper);
  }

  /// Returns the walk with the older kept blob of this name; null if there is no more.
  Names* oldest_kept(const std::string& name) {
    Names* oldest = nullptr;
    for (auto& names : kept_) {
      if (!names.valid() || names.name() != name) continue;
      if (oldest == nullptr || version_of(names) < version_of(*oldest)) oldest = &names;
    }
    return oldest;
  }
  static std::uint64_t version_of(const Names& names) { return blob_keys::kept_key(names.key())->version; }

  /// Returns false if the page is full.
  Result<bool> add_kept(const std::string& name) {
    auto* names = oldest_kept(name);
    if (names == nullptr) return true;
    const auto mark = TRY(KeptBlobs(generation_, name).find_mark(names->rows()));
    for (; names != nullptr; names->next(), names = oldest_kept(name)) {
      const Stamp version{version_of(*names)};
      if (passed_ == kMostPassed) return page_.next = {name, version}, false;
      const auto row = names->value();
      auto kept = seen_through(mark, version, TRY(records::kKeptBlob.decode(row)));
      if (!kept || (kept->deleted ? !request_.with_deleted : !request_.with_snapshots)) {
        ++passed_;
        continue;
      }
      if (full()) return page_.next = {name, version}, false;
      ListedBlob item{.name = name, .blob = std::move(kept->blob)};
      if (kept->snapshot) item.snapshot = version;
      item.deleted = kept->deleted;
      item.retained_days = kept->retained_days;
      page_.items.push_back(std::move(item));
      bytes_ += name.size() + row.size();
    }
    return true;
  }

  Result<bool> add_blob(const std::string& name) {
    if (!blobs_->valid() || blobs_->name() != name) return true;
    if (full()) return page_.next = {name, {}}, false;
    const auto row = blobs_->value();
    page_.items.push_back({.name = name, .blob = TRY(records::kBlob.decode(row))});
    bytes_ += name.size() + row.size();
    blobs_->next();
    if (staged_ && staged_->valid() && staged_->name() == name) staged_->next();
    return true;
  }

  Result<bool> add_staged(const std::string& name) {
    if (!staged_ || !staged_->valid() || staged_->name() != name) return true;
    if (full()) return page_.next = {name, {}}, false;
    page_.items.push_back({.name = name, .blob = Blob{}, .uncommitted = true});
    bytes_ += name.size();
    staged_->next();
    return true;
  }

  std::uint64_t generation_;
  const ListRequest& request_;
  std::optional<Names> blobs_, staged_;
  std::vector<Names> kept_;  // in the order of kKeptKinds
  std::size_t passed_ = 0, bytes_ = 0;
  ListPage<ListedBlob> page_;
};

}  // namespace

Result<ListPage<NamedContainer>> BlobService::list_containers(const std::string& account,
                                                              const ListRequest& request) const {
  ListPage<NamedContainer> page;
  std::size_t bytes = 0;
  const auto snapshot = catalogue().snapshot();
  const auto cursor = snapshot->scan(blob_keys::containers(account, request.prefix, request.from.name));
  for (; cursor->valid(); cursor->next()) {
    auto name = blob_keys::container_name(cursor->key());
    if (!name) return fail(ErrorCode::kCorruption);
    if (*name == kLogContainer && !request.with_system) continue;
    if (page.items.size() == request.limit || bytes >= kMostBytes) {
      page.next.name = std::move(*name);
      break;
    }
    bytes += name->size() + cursor->value().size();
    page.items.push_back({std::move(*name), TRY(records::kContainer.decode(cursor->value()))});
  }
  TRY(cursor->status());
  return page;
}

Result<ListPage<ListedBlob>> BlobService::list_blobs(const ContainerRef& ref, ListRequest request) const {
  request.prefix = blob_name_of(std::move(request.prefix));
  const auto rows = shards::snapshots_of(stored_);
  const auto container = TRY(find_container(*rows.front(), ref));
  return Listing(rows, container.generation, request).page();
}

}  // namespace tidemark::blob_store
