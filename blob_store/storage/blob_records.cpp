#include "blob_store/storage/blob_records.h"

#include "common/base/bytes.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store::records {
namespace {

constexpr std::uint8_t kFormat = 1;

std::unexpected<Error> corrupt(std::string_view what) {
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "a stored " + std::string(what) + " cannot be read";
  return fail(std::move(error));
}

void write_metadata(ByteWriter& out, const Metadata& metadata) {
  out.varint(metadata.size());
  for (const auto& [name, value] : metadata) {
    out.string(name);
    out.string(value);
  }
}

Metadata read_metadata(ByteReader& in) {
  Metadata metadata;
  for (auto left = in.varint(); left > 0 && in.ok(); --left) {
    std::string name(in.string());
    metadata.emplace_back(std::move(name), std::string(in.string()));
  }
  return metadata;
}

}  // namespace

std::string encode(const Container& container) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(container.generation);
  out.u64(container.version.ticks);
  write_metadata(out, container.metadata);
  out.string(container.public_access);
  protocol::write_policies(out, container.policies);
  return bytes;
}

Result<Container> decode_container(std::string_view bytes) {
  ByteReader in(bytes);
  Container container;
  if (in.u8() != kFormat) return corrupt("container");
  container.generation = in.varint();
  container.version.ticks = in.u64();
  container.metadata = read_metadata(in);
  container.public_access = in.string();
  container.policies = protocol::read_policies(in);
  if (!in.finished()) return corrupt("container");
  return container;
}

std::string encode(const Blob& blob) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u64(blob.version.ticks);
  out.u64(blob.created.ticks);
  out.varint(blob.size);
  const auto& h = blob.headers;
  for (const auto* text : {&h.type, &h.encoding, &h.language, &h.disposition, &h.cache_control, &h.md5}) {
    out.string(*text);
  }
  write_metadata(out, blob.metadata);
  out.boolean(blob.source_version.has_value());
  if (blob.source_version) out.i64(*blob.source_version);
  return bytes;
}

Result<Blob> decode_blob(std::string_view bytes) {
  ByteReader in(bytes);
  Blob blob;
  if (in.u8() != kFormat) return corrupt("blob");
  blob.version.ticks = in.u64();
  blob.created.ticks = in.u64();
  blob.size = in.varint();
  auto& h = blob.headers;
  for (auto* text : {&h.type, &h.encoding, &h.language, &h.disposition, &h.cache_control, &h.md5}) *text = in.string();
  blob.metadata = read_metadata(in);
  if (in.boolean()) blob.source_version = in.i64();
  if (!in.finished()) return corrupt("blob");
  return blob;
}

std::string encode(const std::vector<Extent>& extents) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(extents.size());
  for (const auto& extent : extents) {
    out.varint(extent.payload);
    out.varint(extent.size);
    out.string(extent.block_id);
  }
  return bytes;
}

Result<std::vector<Extent>> decode_extents(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<Extent> extents;
  if (in.u8() != kFormat) return corrupt("extent list");
  for (auto left = in.varint(); left > 0 && in.ok(); --left) {
    Extent extent;
    extent.payload = in.varint();
    extent.size = in.varint();
    extent.block_id = in.string();
    extents.push_back(std::move(extent));
  }
  if (!in.finished()) return corrupt("extent list");
  return extents;
}

std::string encode(const StagedBlock& block) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(block.payload);
  out.varint(block.size);
  return bytes;
}

Result<StagedBlock> decode_staged_block(std::string_view bytes) {
  ByteReader in(bytes);
  StagedBlock block;
  const auto format = in.u8();
  block.payload = in.varint();
  block.size = in.varint();
  if (format != kFormat || !in.finished()) return corrupt("staged block");
  return block;
}

std::string encode(const StagedSummary& summary) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(summary.id_length);
  out.varint(summary.count);
  out.i64(summary.last_staged.time_since_epoch().count());
  return bytes;
}

Result<StagedSummary> decode_staged_summary(std::string_view bytes) {
  ByteReader in(bytes);
  StagedSummary summary;
  const auto format = in.u8();
  summary.id_length = in.varint();
  summary.count = in.varint();
  summary.last_staged = Time(Duration(in.i64()));
  if (format != kFormat || !in.finished()) return corrupt("summary of staged blocks");
  return summary;
}

std::string encode_number(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).u64(number);
  return bytes;
}

Result<std::uint64_t> decode_number(std::string_view bytes) {
  ByteReader in(bytes);
  const auto number = in.u64();
  if (!in.finished()) return corrupt("number");
  return number;
}

}  // namespace tidemark::blob_store::records
