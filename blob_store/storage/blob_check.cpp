#include "blob_store/storage/blob_check.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_references.h"
#include "blob_store/storage/container_rows.h"
#include "blob_store/storage/contents.h"
#include "common/shards/catalogue_copies.h"
#include "common/shards/operation_ledgers.h"

namespace tidemark::blob_store {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::uint64_t>> numbers_of(const kv::Reader& rows, char kind, const Slice& slice = {}) {
  std::vector<std::uint64_t> numbers;
  const auto cursor = rows.scan_long(blob_keys::all(kind));
  for (; cursor->valid(); cursor->next()) {
    const auto number = kv::number_in(cursor->key());
    if (slice.has(number)) numbers.push_back(number);
  }
  TRY(cursor->status());
  return numbers;
}

/// The part of a store that is checked: one of its shards.
struct Part {
  std::size_t shard = 0;
  const shards::Placement* placement = nullptr;
  /// Files with ids that no shard gives are checked together with the first shard.
  [[nodiscard]] bool has(std::uint64_t id) const {
    const auto giver = Ids::shard_of(id);
    return shard == (giver < placement->shards() ? giver : 0);
  }
};

/// The containers, as the first shard had them before the rows of the other shards were read.
struct Containers {
  std::map<std::uint64_t, blob_keys::ContainerKey> by_generation;
  std::uint64_t next = 0;  // younger containers have at least this generation
};
Result<Containers> containers_in(const kv::Reader& catalogue) {
  Containers all{.by_generation = {}, .next = TRY(Ids(0).next(catalogue))};
  const auto cursor = catalogue.scan(blob_keys::all('C'));
  for (; cursor->valid(); cursor->next()) {
    const auto container = records::kContainer.decode(cursor->value());
    auto key = blob_keys::container_key(cursor->key());
    if (container && key) all.by_generation.emplace(container->generation, std::move(*key));
  }
  TRY(cursor->status());
  return all;
}

/// Returns the files below the directory by payload. Files with other names do not belong to the store.
using OnDisk = std::map<PayloadId, fs::path>;
Result<OnDisk> files_below(const fs::path& payloads, const std::function<bool(PayloadId)>& wanted) {
  OnDisk files;
  std::error_code failed;
  auto entry = fs::recursive_directory_iterator(payloads, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const auto id =
        entry->is_regular_file(failed) ? PayloadFiles::id_of(entry->path().filename().string()) : std::nullopt;
    if (id && wanted(*id)) files.emplace(*id, entry->path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return fail(error_for_log(ErrorCode::kStorageFailure, "reading " + payloads.string() + ": " + failed.message()));
  }
  return files;
}

/// Ids of a slice whose files need no owner: pending, dead, made late by a former owner, or younger than the rows.
struct Unsettled {
  std::set<std::uint64_t> ids;
  std::size_t shard = 0;
  std::uint64_t next = 0;
  [[nodiscard]] bool has(PayloadId id) const { return (id >= next && Ids::shard_of(id) == shard) || ids.contains(id); }
};
Result<Unsettled> unsettled_in(const kv::Reader& rows, std::size_t shard, const Slice& slice = {}) {
  Unsettled out;
  for (const char kind : {'Q', blob_keys::kDead, blob_keys::kLateFile}) {
    for (const auto id : TRY(numbers_of(rows, kind, slice))) out.ids.insert(id);
  }
  out.shard = shard;
  out.next = TRY(Ids(shard).next(rows));
  return out;
}

/// One walk over the rows of a shard in one state.
class RowsOfShard : kv::RowCheck {
 public:
  RowsOfShard(const Part& part, const Containers& containers, const kv::Reader& rows, kv::CheckRun& run,
              References references)
      : RowCheck(rows, run), part_(part), containers_(containers), references_(std::move(references)) {}
  Result<void> check();
  /// Returns the references that the walk found, sorted.
  [[nodiscard]] const References& references() const { return references_; }

 private:
  void look_at_blob(std::string_view key, const Blob& blob);
  void check_extents(std::string_view key, const Blob& blob);
  void check_tags(std::string_view key, const Blob& blob);
  void look_at_row_payload(std::string_view key, std::string_view value);
  void check_place(std::string_view key);
  void own(std::uint64_t id, std::uint64_t end) { references_.add(references_.owned, id, end); }

  const Part& part_;
  const Containers& containers_;
  References references_;
  std::set<std::uint64_t> dropped_;
};

/// Checks that the container exists, and that a blob of this name belongs on this shard.
void RowsOfShard::check_place(std::string_view key) {
  const auto generation = kv::number_in(key);
  const auto container = containers_.by_generation.find(generation);
  if (container == containers_.by_generation.end()) {
    const bool may_be_younger = part_.shard > 0 && generation >= containers_.next;
    if (!dropped_.contains(generation) && !may_be_younger) wrong("reference", key, "belongs to no container");
    return;
  }
  const auto blob = blob_keys::blob_of_row(key);
  const auto& [account, name] = container->second;
  if (blob && part_.placement->of({account, name, blob->name}) != part_.shard) {
    wrong("reference", key, "belongs to a blob that is on another shard");
  }
}

void RowsOfShard::check_extents(std::string_view key, const Blob& blob) {
  if (blob.content.whole || blob.type == BlobType::kPage) return;
  std::uint64_t at = 0;
  const auto cursor = rows_.scan(blob_keys::extents(blob.content.id));
  for (; cursor->valid() && at < blob.size; cursor->next()) {
    const auto extent = records::kExtent.decode(cursor->value());
    if (!extent || blob_keys::extent_start(cursor->key()) != at) break;
    at += extent->size;
  }
  if (at < blob.size) wrong("reference", key, fmt::format("has bytes up to {} instead of {}", at, blob.size));
}

void RowsOfShard::check_tags(std::string_view key, const Blob& blob) {
  const auto generation = kv::number_in(key);
  const auto name = blob_keys::blob_name(key);
  for (const auto& [tag, value] : blob.tags) {
    const auto row = rows_.get(blob_keys::tag(generation, tag, value, name));
    if (row && !*row) wrong("reference", key, "has a tag that is not in the index of tags");
  }
}

void RowsOfShard::look_at_blob(std::string_view key, const Blob& blob) {
  check_place(key);
  own(blob.content.id, blob.content.whole ? blob.size : 0);
  if (blob.content.id != 0) check_extents(key, blob);
  if (blob.content.id == 0 && blob.size > 0 && blob.type != BlobType::kPage) wrong("reference", key, "has no content");
}

void RowsOfShard::look_at_row_payload(std::string_view key, std::string_view value) {
  const auto id = kv::number_in(key);
  const auto bytes = value.size() < sizeof(std::uint32_t) ? 0 : value.size() - sizeof(std::uint32_t);
  references_.add(references_.row_payloads, id, bytes);
  if (!open_chunk(id, 0, std::string(value))) wrong("payload", key, "its bytes do not have their checksum");
}

Result<void> RowsOfShard::check() {
  const auto placed = [this](const Look& look) {
    return [this, look](std::string_view key, std::string_view value) {
      check_place(key);
      if (look) look(key, value);
    };
  };
  TRY(walk(
      {{"G", [this](auto key, auto) { dropped_.insert(kv::number_in(key)); }},
       {"B", reads(records::kBlob, {},
                   [this](auto& key, auto& blob) {
                     look_at_blob(key, blob);
                     check_tags(key, blob);
                   })},
       {"SZ", reads(records::kKeptBlob, {}, [this](auto& key, auto& kept) { look_at_blob(key, kept.blob); })},
       {"K", placed(reads(records::kStagedBlock, {}, [this](auto&, auto& block) { own(block.payload, block.size); }))},
       {"X",
        reads(records::kExtent, {}, [this](auto&, auto& extent) { own(extent.payload, extent.from + extent.size); })},
       {"P", [this](auto... row) { look_at_row_payload(row...); }},
       {"R",
        reads(records::decode_number, "cannot be read",
              [this](auto& key, auto& count) { references_.add(references_.counted, kv::number_in(key), count); })},
       {"C", reads(records::kContainer)},
       {"D", reads(records::kDead)},
       {"V", reads(records::kKeptMark)},
       {"U", placed(reads(records::kStagedSummary))},
       {"L", reads(shards::ledger_in, "the ledger cannot be read")},
       {"QWI", reads(records::decode_number, "cannot be read")},
       {"Tt", placed({})},
       {"AEFlacy"}}));  // check_blobs() checks 'c', the copies of containers, for all shards together
  references_.merge();
  return {};
}

/// Compares the owners of one content or payload with the counted ones, and with the bytes of its row.
void tell_faults(const OfId& owned, const References& references, kv::CheckRun& run) {
  const auto* const further = find_id(references.counted, owned.id);
  const auto counted = further != nullptr ? further->value + 1 : 1;
  if (owned.owners != counted) {
    run.found("figure", fmt::format("content or payload {}", owned.id),
              fmt::format("is counted to have {} owners, and has {}", counted, owned.owners));
  }
  const auto* const row = find_id(references.row_payloads, owned.id);
  if (row != nullptr && row->value < owned.value) {
    run.found("payload", fmt::format("payload {}", owned.id),
              fmt::format("has {} bytes, fewer than are referred to", row->value));
  }
}

/// Compares the owners of contents and payloads with the counted ones, and payloads that are rows with their owners.
void settle_accounts(const References& references, const Unsettled& unsettled, kv::CheckRun& run) {
  for (const auto& one : references.owned) tell_faults(one, references, run);
  const auto is_lost = [&](const OfId& one) {
    return find_id(references.owned, one.id) == nullptr && !unsettled.has(one.id);
  };
  for (const auto& one : references.counted) {
    if (is_lost(one)) run.found("figure", fmt::format("content or payload {}", one.id), "has counted owners, and none");
  }
  for (const auto& one : references.row_payloads) {
    if (is_lost(one)) run.found("stray", fmt::format("payload {}", one.id), "a row that nothing refers to");
  }
}

/// Returns how many bytes of the file have correct checksums; fewer than it should have if one is wrong.
Result<std::uint64_t> check_payload_file(const fs::path& path, PayloadId id, kv::CheckRun& run) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::error_code unknown;
  const auto size = fs::file_size(path, unknown);
  std::uint64_t whole = 0;
  constexpr auto kSealedBytes = sizeof(std::uint32_t) + kChunkBytes;
  for (std::uint64_t index = 0; file && !unknown && index * kSealedBytes < size; ++index) {
    const auto chunk = PayloadFiles::read_chunk(file, id, index);
    if (!chunk && !chunk.failed_with(ErrorCode::kCorruption)) return fail(chunk.error());
    if (!chunk) break;
    whole += chunk->size();
    TRY(run.read_bytes(chunk->size()));
  }
  run.read_file();
  return whole;
}

/// Returns each payload that is a file, with the end of the last range that an owner has of it.
std::map<PayloadId, std::uint64_t> files_owned(const OfIds& owned) {
  std::map<PayloadId, std::uint64_t> files;
  for (const auto& one : owned) {
    if (is_file(one.id)) files[one.id] = std::max(files[one.id], one.value);
  }
  return files;
}

/// Checks one shard.
class ShardCheck {
 public:
  ShardCheck(const Part& part, const Containers& containers, const kv::Engine& engine, const fs::path& payloads,
             kv::CheckRun& run)
      : part_(part), containers_(containers), engine_(engine), payloads_(payloads), run_(run) {}
  Result<void> look_at(const kv::Reader& rows, std::size_t at_once) const;

 private:
  Result<void> settle_slice(const kv::Reader& rows, const References& references) const;
  Result<void> check_files(const References& references, const Unsettled& unsettled) const;

  const Part& part_;
  const Containers& containers_;
  const kv::Engine& engine_;
  const fs::path& payloads_;
  kv::CheckRun& run_;
};

/// Finds files without an owner, and owners whose file is missing or incomplete. Such a file may have been given up and
/// removed since the rows were read: it counts as a fault only if it still has an owner in a later state.
Result<void> ShardCheck::check_files(const References& references, const Unsettled& unsettled) const {
  const auto wanted = files_owned(references.owned);
  const auto there =
      TRY(files_below(payloads_, [&](PayloadId id) { return part_.has(id) && references.slice.has(id); }));
  for (const auto& [id, path] : there) {
    if (!wanted.contains(id) && !unsettled.has(id)) {
      run_.found("stray", "file " + PayloadFiles::name_of(id).string(), "is a payload that nothing refers to");
    }
  }
  std::map<PayloadId, std::string> suspects;
  for (const auto& [id, end] : wanted) {
    const auto file = there.find(id);
    if (file == there.end()) {
      suspects.emplace(id, "is missing");
    } else if (const auto whole = TRY(check_payload_file(file->second, id, run_)); whole < end) {
      suspects.emplace(id, fmt::format("only its first {} bytes have their checksums, of {}", whole, end));
    }
  }
  if (suspects.empty()) return {};
  const auto later = engine_.snapshot();
  kv::CheckRun quiet;
  RowsOfShard again(part_, containers_, *later, quiet, {.slice = references.slice, .at_once = kReferencesAtOnce});
  TRY(again.check());
  const auto still_wanted = files_owned(again.references().owned);
  for (const auto& [id, what] : suspects) {
    if (still_wanted.contains(id)) run_.found("payload", "file " + PayloadFiles::name_of(id).string(), what);
  }
  return {};
}

Result<void> ShardCheck::settle_slice(const kv::Reader& rows, const References& references) const {
  const auto unsettled = TRY(unsettled_in(rows, part_.shard, references.slice));
  settle_accounts(references, unsettled, run_);
  return check_files(references, unsettled);
}

Result<void> ShardCheck::look_at(const kv::Reader& rows, std::size_t at_once) const {
  Slice slice;
  {
    RowsOfShard check(part_, containers_, rows, run_, {.slice = slice, .divides = true, .at_once = at_once});
    TRY(check.check());
    slice = check.references().slice;
    TRY(settle_slice(rows, check.references()));
  }
  while (++slice.number < slice.count) {
    // The first walk has reported the faults of single rows; this one only keeps to the pace of the check.
    kv::CheckRun quiet([&](std::uint64_t bytes) { return run_.read_bytes(bytes).has_value(); });
    RowsOfShard check(part_, containers_, rows, quiet, {.slice = slice, .at_once = kReferencesAtOnce});
    TRY(check.check());
    TRY(settle_slice(rows, check.references()));
  }
  return {};
}

/// Compares the copies of containers with the containers of the first shard.
Result<void> check_copies(std::span<const kv::Engine* const> shards, kv::CheckRun& run) {
  const auto before = shards.front()->snapshot();
  std::vector<std::shared_ptr<const kv::Reader>> rows;
  for (const auto* shard : shards) rows.push_back(shard->snapshot());
  const auto after = shards.front()->snapshot();
  return shards::CatalogueCopies::check({*before, rows, *after}, blob_keys::kContainerCopy, ContainerRows(), run);
}

}  // namespace

Result<void> check_blobs(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                         const fs::path& payloads, kv::CheckRun& run, std::size_t at_once) {
  const auto catalogue = shards.front()->snapshot();
  const auto containers = TRY(containers_in(*catalogue));
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const Part part{shard, &placement};
    const auto rows = shard == 0 ? catalogue : shards[shard]->snapshot();
    TRY(ShardCheck(part, containers, *shards[shard], payloads, run).look_at(*rows, at_once));
  }
  return shards.size() > 1 ? check_copies(shards, run) : Result<void>();
}

Result<std::vector<fs::path>> files_of_rows(std::span<const std::shared_ptr<const kv::Reader>> shards,
                                            const fs::path& payloads) {
  std::vector<Unsettled> unsettled;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    unsettled.push_back(TRY(unsettled_in(*shards[shard], shard)));
  }
  const auto settled = [&](PayloadId id) {
    const auto giver = Ids::shard_of(id);
    return giver < unsettled.size() && !unsettled[giver].has(id);
  };
  std::vector<fs::path> files;
  for (const auto& [id, path] : TRY(files_below(payloads, settled))) files.push_back(PayloadFiles::name_of(id));
  return files;
}

}  // namespace tidemark::blob_store
