#include "common/kv/log_check.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstring>
#include <memory>

#include "common/kv/rocksdb_database.h"

namespace tidemark::kv::detail {
namespace {

using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

constexpr std::size_t kBlockBytes = 32UL << 10;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kLogNumberBytes = 4;
constexpr std::uint8_t kFirstRecyclable = 5, kLastRecyclable = 8;
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMaskDelta; }

std::size_t header_of(std::uint8_t type) {
  return kHeaderBytes + (type >= kFirstRecyclable && type <= kLastRecyclable ? kLogNumberBytes : 0);
}

struct Head {
  std::uint32_t sum = 0;
  std::uint16_t length = 0;
  std::uint8_t type = 0;
};

Head head_at(const char* bytes) {
  Head head;
  std::memcpy(&head.sum, bytes, sizeof head.sum);
  std::memcpy(&head.length, bytes + 4, sizeof head.length);
  head.type = static_cast<std::uint8_t>(bytes[6]);
  return head;
}

bool all_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

/// Tells whether the record would be intact with another length, so that the length itself is damaged.
bool whole_with_another_length(const Head& head, std::string_view record) {
  Crc32c crc;
  for (std::size_t at = kHeaderBytes - 1; at < record.size(); ++at) {
    crc.process_byte(static_cast<unsigned char>(record[at]));
    if (at + 1 >= header_of(head.type) && masked(crc.checksum()) == head.sum) return true;
  }
  return false;
}

/// Describes the damage in a block. `last`: the log ends with this block.
std::optional<std::string> check_block(std::string_view block, bool last) {
  while (block.size() >= kHeaderBytes) {
    const auto head = head_at(block.data());  // NOLINT(bugprone-suspicious-stringview-data-usage): it is long enough
    if (head.type == 0 && head.length == 0) return all_zero(block) ? std::nullopt : std::optional("no record");
    const auto size = header_of(head.type) + head.length;
    if (size > block.size()) {
      if (last && !whole_with_another_length(head, block)) return std::nullopt;  // cut off
      return "a record has a wrong length";
    }
    Crc32c crc;
    crc.process_bytes(block.data() + kHeaderBytes - 1, size - kHeaderBytes + 1);
    if (masked(crc.checksum()) != head.sum) return "a record has a wrong checksum";
    block.remove_prefix(size);
  }
  return last || all_zero(block) ? std::nullopt : std::optional("the end of a block is not empty");
}

}  // namespace

Result<std::optional<std::string>> check_log(rocksdb::Env& env, const std::filesystem::path& path,
                                             std::optional<std::uint64_t> size,
                                             const std::function<Result<void>(std::uint64_t bytes)>& read) {
  std::uint64_t whole = 0;
  std::unique_ptr<rocksdb::SequentialFile> file;
  auto status = env.GetFileSize(path.string(), &whole);
  if (status.ok()) status = env.NewSequentialFile(path.string(), &file, rocksdb::EnvOptions());
  if (!status.ok()) return fail(error_of(status));
  const auto end = std::min(size.value_or(whole), whole);
  std::string space(kBlockBytes, '\0');
  for (std::uint64_t at = 0; at < end; at += kBlockBytes) {
    rocksdb::Slice block;
    const auto wanted = std::min<std::uint64_t>(kBlockBytes, end - at);
    status = file->Read(wanted, &block, space.data());
    if (!status.ok()) return fail(error_of(status));
    if (read) TRY(read(block.size()));
    if (auto wrong = check_block(view(block), at + kBlockBytes >= end)) {
      return std::optional(*wrong + ", in the block at byte " + std::to_string(at));
    }
  }
  return std::optional<std::string>();
}

}  // namespace tidemark::kv::detail
