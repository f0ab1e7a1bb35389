#include "blob_store/storage/blob_check.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/contents.h"
#include "common/base/operation_ledger.h"

namespace tidemark::blob_store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostSlices = 1 << 16;

/// A part of the ids, of which each has about the same number.
struct Slice {
  std::uint64_t number = 0, count = 1;  // count: a power of two
  [[nodiscard]] bool has(std::uint64_t id) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // ids follow each other
    return ((id * kMix) >> 32 & (count - 1)) == number;
  }
};

/// A content or a payload: so many read it, up to here; or it has so many further owners, or bytes.
struct OfId {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  std::uint64_t owners = 1;
};
using OfIds = std::vector<OfId>;

/// `of` is sorted.
const OfId* find_id(const OfIds& of, std::uint64_t id) {
  const auto found = std::ranges::lower_bound(of, id, {}, &OfId::id);
  return found == of.end() || found->id != id ? nullptr : &*found;
}

/// What the rows say of the contents and payloads of a slice.
struct References {
  Slice slice;
  bool divides = false;                     // the slice becomes smaller if there is more than that
  std::size_t at_once = kReferencesAtOnce;  // then entries are merged
  OfIds owned = {};                         // up to where
  OfIds counted = {};                       // how many further owners
  OfIds row_payloads = {};                  // how many bytes

  void add(OfIds& to, std::uint64_t id, std::uint64_t value) {
    if (id == 0 || !slice.has(id)) return;
    to.push_back({id, value});
    if (size() > at_once) make_room();
  }
  /// Sorts, with one entry for each id. `counted` and `row_payloads` are so because their rows are.
  void merge() {
    std::ranges::sort(owned, {}, &OfId::id);
    std::size_t merged = 0;
    for (const auto& one : owned) {
      if (merged > 0 && owned[merged - 1].id == one.id) {
        owned[merged - 1].value = std::max(owned[merged - 1].value, one.value);
        owned[merged - 1].owners += one.owners;
      } else {
        owned[merged++] = one;
      }
    }
    owned.resize(merged);
  }

 private:
  [[nodiscard]] std::size_t size() const { return owned.size() + counted.size() + row_payloads.size(); }
  /// However many refer to one id, it cannot be divided.
  [[nodiscard]] bool can_divide() const {
    return divides && slice.count < kMostSlices && (owned.size() > 1 || counted.size() > 1 || row_payloads.size() > 1);
  }
  void make_room() {
    merge();
    while (size() > at_once / 2 && can_divide()) {
      slice.count *= 2;
      for (auto* each : {&owned, &counted, &row_payloads}) {
        std::erase_if(*each, [this](const OfId& one) { return !slice.has(one.id); });
      }
    }
    at_once = std::max(at_once, 2 * size());  // there is no more room, and to merge at each entry would take forever
  }
};

Result<std::vector<std::uint64_t>> numbers_of(const kv::Reader& rows, char kind, const Slice& slice = {}) {
  std::vector<std::uint64_t> numbers;
  const auto cursor = rows.scan_long(blob_keys::all(kind));
  for (; cursor->valid(); cursor->next()) {
    const auto number = blob_keys::number(cursor->key());
    if (slice.has(number)) numbers.push_back(number);
  }
  TRY(cursor->status());
  return numbers;
}

Result<std::uint64_t> next_id(const kv::Reader& rows) {
  const auto stored = TRY(rows.get(blob_keys::kNextId));
  return stored ? 2 * TRY(records::decode_number(*stored)) : 2;
}

/// Files below the directory, by payload. What has another name is none of the store's.
using OnDisk = std::map<PayloadId, fs::path>;
Result<OnDisk> files_below(const fs::path& payloads, const Slice& slice = {}) {
  OnDisk files;
  std::error_code failed;
  auto entry = fs::recursive_directory_iterator(payloads, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const auto id =
        entry->is_regular_file(failed) ? PayloadFiles::id_of(entry->path().filename().string()) : std::nullopt;
    if (id && slice.has(*id)) files.emplace(*id, entry->path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return fail(error_for_log(ErrorCode::kStorageFailure, "reading " + payloads.string() + ": " + failed.message()));
  }
  return files;
}

/// Ids of a slice whose files nobody counts on: pending, dead, or younger than the rows.
struct Unsettled {
  std::set<std::uint64_t> ids;
  std::uint64_t next = 0;
  [[nodiscard]] bool has(PayloadId id) const { return id >= next || ids.contains(id); }
};
Result<Unsettled> unsettled_in(const kv::Reader& rows, const Slice& slice = {}) {
  Unsettled out;
  for (const char kind : {'Q', blob_keys::kDead}) {
    for (const auto id : TRY(numbers_of(rows, kind, slice))) out.ids.insert(id);
  }
  out.next = TRY(next_id(rows));
  return out;
}

/// One walk over the rows of one state.
class RowCheck {
 public:
  RowCheck(const kv::Reader& rows, kv::CheckRun& run, References references)
      : rows_(rows), run_(run), references_(std::move(references)) {}
  Result<void> walk();
  /// What it found; sorted.
  [[nodiscard]] const References& references() const { return references_; }

 private:
  Result<void> look_at(std::string_view key, std::string_view value);
  template <class Format>
  auto read(const Format& format, std::string_view key, std::string_view value);
  void check(const auto& format, std::string_view key, std::string_view value) {
    static_cast<void>(read(format, key, value));
  }
  void look_at_blob(std::string_view key, const Blob& blob);
  void check_extents(std::string_view key, const Blob& blob);
  void check_tags(std::string_view key, const Blob& blob);
  void look_at_row_payload(std::string_view key, std::string_view value);
  void check_generation(std::string_view key);
  void own(std::uint64_t id, std::uint64_t end) { references_.add(references_.owned, id, end); }
  void wrong(std::string_view kind, std::string_view key, std::string what) {
    run_.found(kind, kv::row_name(key), std::move(what));
  }

  const kv::Reader& rows_;
  kv::CheckRun& run_;
  References references_;
  std::set<std::uint64_t> generations_;
};

template <class Format>
auto RowCheck::read(const Format& format, std::string_view key, std::string_view value) {
  auto record = format.decode(value);
  if (!record) wrong("record", key, "cannot be read: " + record.error().detail);
  return record;
}

void RowCheck::check_generation(std::string_view key) {
  if (!generations_.contains(blob_keys::number(key))) wrong("reference", key, "belongs to no container");
}

void RowCheck::check_extents(std::string_view key, const Blob& blob) {
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

void RowCheck::check_tags(std::string_view key, const Blob& blob) {
  const auto generation = blob_keys::number(key);
  const auto name = blob_keys::blob_name(key);
  for (const auto& [tag, value] : blob.tags) {
    const auto row = rows_.get(blob_keys::tag(generation, tag, value, name));
    if (row && !*row) wrong("reference", key, "has a tag that is not in the index of tags");
  }
}

void RowCheck::look_at_blob(std::string_view key, const Blob& blob) {
  check_generation(key);
  own(blob.content.id, blob.content.whole ? blob.size : 0);
  if (blob.content.id != 0) check_extents(key, blob);
  if (blob.content.id == 0 && blob.size > 0 && blob.type != BlobType::kPage) wrong("reference", key, "has no content");
}

void RowCheck::look_at_row_payload(std::string_view key, std::string_view value) {
  const auto id = blob_keys::number(key);
  const auto bytes = value.size() < sizeof(std::uint32_t) ? 0 : value.size() - sizeof(std::uint32_t);
  references_.add(references_.row_payloads, id, bytes);
  if (!open_chunk(id, 0, std::string(value))) wrong("payload", key, "its bytes do not have their checksum");
}

Result<void> RowCheck::look_at(std::string_view key, std::string_view value) {
  switch (key.empty() ? 0 : key.front()) {
    case 'B':
      if (const auto blob = read(records::kBlob, key, value)) {
        look_at_blob(key, *blob);
        check_tags(key, *blob);
      }
      return {};
    case 'S':
    case 'Z':
      if (const auto kept = read(records::kKeptBlob, key, value)) look_at_blob(key, kept->blob);
      return {};
    case 'K':
      check_generation(key);
      if (const auto block = read(records::kStagedBlock, key, value)) own(block->payload, block->size);
      return {};
    case 'X':
      if (const auto extent = read(records::kExtent, key, value)) own(extent->payload, extent->from + extent->size);
      return {};
    case 'P':
      look_at_row_payload(key, value);
      return {};
    case 'R':
      if (const auto count = records::decode_number(value)) {
        references_.add(references_.counted, blob_keys::number(key), *count);
      } else {
        wrong("record", key, "cannot be read");
      }
      return {};
    case 'C':
      check(records::kContainer, key, value);
      return {};
    case 'D':
      check(records::kDead, key, value);
      return {};
    case 'V':
      check(records::kKeptMark, key, value);
      return {};
    case 'U':
      check_generation(key);
      check(records::kStagedSummary, key, value);
      return {};
    case 'L':
      if (!decode_ledger(value)) wrong("record", key, "the ledger cannot be read");
      return {};
    case 'Q':
    case 'I':
      if (!records::decode_number(value)) wrong("record", key, "cannot be read");
      return {};
    case 'T':
    case 't':
      check_generation(key);
      return {};
    case 'A':
    case 'E':
    case 'G':
    case 'l':
    case 'a':
    case 'y':
      return {};
    default:
      wrong("stray", key, "is of a kind that this version does not know");
      return {};
  }
}

Result<void> RowCheck::walk() {
  for (const auto generation : TRY(numbers_of(rows_, blob_keys::kDroppedGeneration))) generations_.insert(generation);
  const auto containers = rows_.scan(blob_keys::all('C'));
  for (; containers->valid(); containers->next()) {
    if (const auto container = records::kContainer.decode(containers->value()))
      generations_.insert(container->generation);
  }
  TRY(containers->status());
  TRY(kv::check_rows(rows_, {}, run_, [this](auto key, auto value) { return look_at(key, value); }));
  references_.merge();
  return {};
}

/// Those who have one content or payload, against what is counted and what is there.
void settle(const OfId& owned, const References& references, kv::CheckRun& run) {
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

/// Owners of contents and payloads against what is counted, and payloads that are rows against their owners.
void settle_accounts(const References& references, const Unsettled& unsettled, kv::CheckRun& run) {
  for (const auto& one : references.owned) settle(one, references, run);
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

/// The bytes of a file that hold their checksums; less than it should have if one does not.
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

/// Each payload that is a file, with the last byte of it that somebody has.
std::map<PayloadId, std::uint64_t> files_owned(const OfIds& owned) {
  std::map<PayloadId, std::uint64_t> files;
  for (const auto& one : owned) {
    if (is_file(one.id)) files[one.id] = std::max(files[one.id], one.value);
  }
  return files;
}

/// Files without an owner, and owners whose file lacks something. What is wrong may have been given up and removed
/// since the rows were read: it counts if it has an owner in a later state.
Result<void> check_payload_files(const kv::Engine& engine, const References& references, const Unsettled& unsettled,
                                 const fs::path& payloads, kv::CheckRun& run) {
  const auto wanted = files_owned(references.owned);
  const auto there = TRY(files_below(payloads, references.slice));
  for (const auto& [id, path] : there) {
    if (!wanted.contains(id) && !unsettled.has(id)) {
      run.found("stray", "file " + PayloadFiles::name_of(id).string(), "is a payload that nothing refers to");
    }
  }
  std::map<PayloadId, std::string> suspects;
  for (const auto& [id, end] : wanted) {
    const auto file = there.find(id);
    if (file == there.end()) {
      suspects.emplace(id, "is missing");
    } else if (const auto whole = TRY(check_payload_file(file->second, id, run)); whole < end) {
      suspects.emplace(id, fmt::format("only its first {} bytes have their checksums, of {}", whole, end));
    }
  }
  if (suspects.empty()) return {};
  const auto later = engine.snapshot();
  kv::CheckRun quiet;
  RowCheck again(*later, quiet, {.slice = references.slice});
  TRY(again.walk());
  const auto still_wanted = files_owned(again.references().owned);
  for (const auto& [id, what] : suspects) {
    if (still_wanted.contains(id)) run.found("payload", "file " + PayloadFiles::name_of(id).string(), what);
  }
  return {};
}

}  // namespace

Result<void> check_blobs(const kv::Engine& engine, const fs::path& payloads, kv::CheckRun& run, std::size_t at_once) {
  const auto rows = engine.snapshot();
  const auto settle_slice = [&](const References& references) -> Result<void> {
    const auto unsettled = TRY(unsettled_in(*rows, references.slice));
    settle_accounts(references, unsettled, run);
    return check_payload_files(engine, references, unsettled, payloads, run);
  };
  Slice slice;
  {
    RowCheck check(*rows, run, {.slice = slice, .divides = true, .at_once = at_once});
    TRY(check.walk());
    slice = check.references().slice;
    TRY(settle_slice(check.references()));
  }
  while (++slice.number < slice.count) {
    // Nothing that one row alone shows is told again, and only the pace is that of the check.
    kv::CheckRun quiet([&](std::uint64_t bytes) { return run.read_bytes(bytes).has_value(); });
    RowCheck check(*rows, quiet, {.slice = slice});
    TRY(check.walk());
    TRY(settle_slice(check.references()));
  }
  return {};
}

Result<std::vector<fs::path>> files_of_rows(const kv::Reader& rows, const fs::path& payloads) {
  const auto unsettled = TRY(unsettled_in(rows));
  std::vector<fs::path> files;
  for (const auto& [id, path] : TRY(files_below(payloads))) {
    if (!unsettled.has(id)) files.push_back(PayloadFiles::name_of(id));
  }
  return files;
}

}  // namespace tidemark::blob_store
