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

/// Someone has a content or a payload, and reads it up to here.
struct Owned {
  std::uint64_t id = 0;
  std::uint64_t end = 0;
  bool operator<(const Owned& other) const { return id < other.id || (id == other.id && end < other.end); }
};

std::vector<std::uint64_t> numbers_of(const kv::Reader& rows, char kind, Result<void>& done) {
  std::vector<std::uint64_t> numbers;
  const auto cursor = rows.scan_long(blob_keys::all(kind));
  for (; cursor->valid(); cursor->next()) numbers.push_back(blob_keys::number(cursor->key()));
  done = cursor->status();
  return numbers;
}

Result<std::vector<std::uint64_t>> numbers_of(const kv::Reader& rows, char kind) {
  Result<void> done;
  auto numbers = numbers_of(rows, kind, done);
  TRY(done);
  return numbers;
}

Result<std::uint64_t> next_id(const kv::Reader& rows) {
  const auto stored = TRY(rows.get(blob_keys::kNextId));
  return stored ? 2 * TRY(records::decode_number(*stored)) : 2;
}

/// Files below the directory, by payload. What has another name is none of the store's.
using OnDisk = std::map<PayloadId, fs::path>;
Result<OnDisk> files_below(const fs::path& payloads) {
  OnDisk files;
  std::error_code failed;
  auto entry = fs::recursive_directory_iterator(payloads, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const auto id =
        entry->is_regular_file(failed) ? PayloadFiles::id_of(entry->path().filename().string()) : std::nullopt;
    if (id) files.emplace(*id, entry->path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return fail(error_for_log(ErrorCode::kStorageFailure, "reading " + payloads.string() + ": " + failed.message()));
  }
  return files;
}

/// Ids whose files nobody counts on: pending, dead, or younger than the rows.
struct Unsettled {
  std::set<std::uint64_t> ids;
  std::uint64_t next = 0;
  [[nodiscard]] bool has(PayloadId id) const { return id >= next || ids.contains(id); }
};
Result<Unsettled> unsettled_in(const kv::Reader& rows) {
  Unsettled out;
  for (const char kind : {'Q', blob_keys::kDead}) {
    for (const auto id : TRY(numbers_of(rows, kind))) out.ids.insert(id);
  }
  out.next = TRY(next_id(rows));
  return out;
}

/// One walk over the rows of one state.
class RowCheck {
 public:
  RowCheck(const kv::Reader& rows, kv::CheckRun& run) : rows_(rows), run_(run) {}
  Result<void> walk();
  /// Owners of contents and payloads against what is counted, and payloads that are rows against their owners.
  Result<void> settle_accounts();
  /// Sorted.
  [[nodiscard]] const std::vector<Owned>& owned() const { return owned_; }

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
  void own(std::uint64_t id, std::uint64_t end) {
    if (id != 0) owned_.push_back({id, end});
  }
  void wrong(std::string_view kind, std::string_view key, std::string what) {
    run_.found(kind, kv::row_name(key), std::move(what));
  }

  const kv::Reader& rows_;
  kv::CheckRun& run_;
  std::set<std::uint64_t> generations_;
  std::vector<Owned> owned_;
  std::map<std::uint64_t, std::uint64_t> counted_;       // further owners
  std::map<std::uint64_t, std::uint64_t> row_payloads_;  // bytes
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
  row_payloads_.emplace(id, value.size() < sizeof(std::uint32_t) ? 0 : value.size() - sizeof(std::uint32_t));
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
        counted_.emplace(blob_keys::number(key), *count);
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
  std::ranges::sort(owned_, {}, [](const Owned& one) { return std::pair(one.id, one.end); });
  return {};
}

Result<void> RowCheck::settle_accounts() {
  const auto unsettled = TRY(unsettled_in(rows_));
  for (auto first = owned_.begin(); first != owned_.end();) {
    const auto id = first->id;
    const auto end = std::find_if(first, owned_.end(), [id](const Owned& one) { return one.id != id; });
    const auto owners = static_cast<std::uint64_t>(end - first);
    const auto counted = counted_.contains(id) ? counted_.extract(id).mapped() + 1 : 1;
    if (owners != counted) {
      run_.found("figure", fmt::format("content or payload {}", id),
                 fmt::format("is counted to have {} owners, and has {}", counted, owners));
    }
    if (const auto row = row_payloads_.find(id); row != row_payloads_.end()) {
      if (row->second < std::prev(end)->end) {
        run_.found("payload", fmt::format("payload {}", id),
                   fmt::format("has {} bytes, fewer than are referred to", row->second));
      }
      row_payloads_.erase(row);
    }
    first = end;
  }
  for (const auto& [id, count] : counted_) {
    if (!unsettled.has(id))
      run_.found("figure", fmt::format("content or payload {}", id), "has counted owners, and none");
  }
  for (const auto& [id, bytes] : row_payloads_) {
    if (!unsettled.has(id)) run_.found("stray", fmt::format("payload {}", id), "a row that nothing refers to");
  }
  return {};
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
std::map<PayloadId, std::uint64_t> files_owned(const std::vector<Owned>& owned) {
  std::map<PayloadId, std::uint64_t> files;
  for (const auto& one : owned) {
    if (is_file(one.id)) files[one.id] = std::max(files[one.id], one.end);
  }
  return files;
}

/// Files without an owner, and owners whose file lacks something. What is wrong may have been given up and removed
/// since the rows were read: it counts if it has an owner in a later state.
Result<void> check_payload_files(const kv::Engine& engine, const kv::Reader& rows, const std::vector<Owned>& owned,
                                 const fs::path& payloads, kv::CheckRun& run) {
  const auto unsettled = TRY(unsettled_in(rows));
  const auto wanted = files_owned(owned);
  const auto there = TRY(files_below(payloads));
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
  RowCheck again(*later, quiet);
  TRY(again.walk());
  const auto still_wanted = files_owned(again.owned());
  for (const auto& [id, what] : suspects) {
    if (still_wanted.contains(id)) run.found("payload", "file " + PayloadFiles::name_of(id).string(), what);
  }
  return {};
}

}  // namespace

Result<void> check_blobs(const kv::Engine& engine, const fs::path& folder, kv::CheckRun& run) {
  auto rows = engine.snapshot();
  RowCheck check(*rows, run);
  TRY(check.walk());
  TRY(check.settle_accounts());
  return check_payload_files(engine, *rows, check.owned(), folder / "payloads", run);
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
