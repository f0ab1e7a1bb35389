#include "table_store/storage/table_records.h"

namespace tidemark::table_store {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kHasSourceVersion = 1;
constexpr std::uint8_t kHasOperation = 2;
// The smallest property: empty name, type, one byte. Bounds what a count may promise.
constexpr std::size_t kMinPropertyBytes = 3;

std::unexpected<Error> corrupt(std::string_view what) {
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "bad " + std::string(what) + " record";
  return fail(std::move(error));
}

std::uint64_t zigzag(std::int32_t v) {
  return (static_cast<std::uint32_t>(v) << 1) ^ static_cast<std::uint32_t>(v >> 31);
}
std::int32_t unzigzag(std::uint32_t v) { return static_cast<std::int32_t>((v >> 1) ^ (0U - (v & 1U))); }

struct ValueWriter {
  ByteWriter& out;
  void operator()(const std::string& v) const { out.string(v); }
  void operator()(std::int32_t v) const { out.varint(zigzag(v)); }
  void operator()(std::int64_t v) const { out.i64(v); }
  void operator()(double v) const { out.f64(v); }
  void operator()(bool v) const { out.boolean(v); }
  void operator()(Time v) const { out.i64(v.time_since_epoch().count()); }
  void operator()(const Guid& v) const {
    out.raw(std::string_view(reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size()));
  }
  void operator()(const Binary& v) const { out.string(v.bytes); }
};

bool read_value(ByteReader& in, Value& into) {
  switch (in.u8()) {
    case 1:
      into.emplace<std::string>(in.string());
      break;
    case 2: {
      const auto raw = in.varint();
      if (raw > 0xFFFFFFFFU) return false;
      into.emplace<std::int32_t>(unzigzag(static_cast<std::uint32_t>(raw)));
      break;
    }
    case 3:
      into.emplace<std::int64_t>(in.i64());
      break;
    case 4:
      into.emplace<double>(in.f64());
      break;
    case 5: {
      const auto raw = in.u8();
      if (raw > 1) return false;
      into.emplace<bool>(raw == 1);
      break;
    }
    case 6:
      into.emplace<Time>(Ticks(in.i64()));
      break;
    case 7: {
      const auto raw = in.raw(16);
      if (!in.ok()) return false;
      std::memcpy(into.emplace<Guid>().bytes.data(), raw.data(), 16);
      break;
    }
    case 8:
      into.emplace<Binary>(Binary{std::string(in.string())});
      break;
    default:
      return false;
  }
  return in.ok();
}

void write_optional(ByteWriter& out, const std::optional<std::string>& text) {
  out.boolean(text.has_value());
  if (text) out.string(*text);
}

std::optional<std::string> read_optional(ByteReader& in) {
  if (!in.boolean()) return std::nullopt;
  return std::string(in.string());
}

bool read_head(ByteReader& in, EntityVersions& into) {
  if (in.u8() != kFormat) return false;
  const auto flags = in.u8();
  if (flags > (kHasSourceVersion | kHasOperation)) return false;
  into.version = in.i64();
  if ((flags & kHasSourceVersion) != 0) into.source_version = in.i64();
  if ((flags & kHasOperation) != 0) into.operation = in.string();
  return in.ok();
}

}  // namespace

void write_properties(ByteWriter& out, const std::vector<Property>& properties) {
  out.varint(properties.size());
  for (const auto& property : properties) {
    out.string(property.name);
    out.u8(static_cast<std::uint8_t>(property.value.index() + 1));
    std::visit(ValueWriter{out}, property.value);
  }
}

bool read_properties(ByteReader& in, std::vector<Property>& into) {
  const auto count = in.varint();
  ByteReader probe = in;
  if (count > probe.rest().size() / kMinPropertyBytes) return false;
  into.clear();
  into.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& property = into.emplace_back();
    property.name = in.string();
    if (!read_value(in, property.value)) return false;
  }
  return in.ok();
}

std::string encode_entity(Version version, std::optional<Version> source_version,
                          const std::vector<Property>& properties, std::string_view operation) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u8(static_cast<std::uint8_t>((source_version ? kHasSourceVersion : 0) | (operation.empty() ? 0 : kHasOperation)));
  out.i64(version);
  if (source_version) out.i64(*source_version);
  if (!operation.empty()) out.string(operation);
  write_properties(out, properties);
  return bytes;
}

Result<void> decode_entity(std::string_view bytes, Entity& into) {
  ByteReader in(bytes);
  EntityVersions head;
  if (!read_head(in, head) || !read_properties(in, into.properties) || !in.finished()) return corrupt("entity");
  into.version = head.version;
  into.source_version = head.source_version;
  into.operation = head.operation;
  return {};
}

Result<EntityVersions> decode_entity_versions(std::string_view bytes) {
  ByteReader in(bytes);
  EntityVersions head;
  if (!read_head(in, head)) return corrupt("entity");
  return head;
}

std::string encode_table(const TableRecord& table) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u64(table.generation);
  out.string(table.name);
  out.varint(table.acl.size());
  for (const auto& identifier : table.acl) {
    out.string(identifier.id);
    write_optional(out, identifier.start);
    write_optional(out, identifier.expiry);
    write_optional(out, identifier.permission);
  }
  return bytes;
}

Result<TableRecord> decode_table(std::string_view bytes) {
  ByteReader in(bytes);
  TableRecord table;
  if (in.u8() != kFormat) return corrupt("table");
  table.generation = in.u64();
  table.name = in.string();
  const auto count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    SignedIdentifier identifier;
    identifier.id = in.string();
    identifier.start = read_optional(in);
    identifier.expiry = read_optional(in);
    identifier.permission = read_optional(in);
    table.acl.push_back(std::move(identifier));
  }
  if (!in.finished()) return corrupt("table");
  return table;
}

Result<std::uint64_t> decode_table_generation(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kFormat) return corrupt("table");
  const auto generation = in.u64();
  if (!in.ok()) return corrupt("table");
  return generation;
}

std::string encode_ledger(const OperationLedger& ledger) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(ledger.epoch);
  out.boolean(ledger.closed);
  out.varint(ledger.counters.size());
  for (const auto& [name, value] : ledger.counters) {
    out.string(name);
    out.varint(value);
  }
  return bytes;
}

Result<OperationLedger> decode_ledger(std::string_view bytes) {
  ByteReader in(bytes);
  OperationLedger ledger;
  if (in.u8() != kFormat) return corrupt("ledger");
  ledger.epoch = in.varint();
  ledger.closed = in.boolean();
  const auto count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    std::string name(in.string());
    const auto value = in.varint();
    ledger.counters.emplace_back(std::move(name), value);
  }
  if (!in.finished()) return corrupt("ledger");
  return ledger;
}

std::string encode_counter(std::uint64_t value) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u64(value);
  return bytes;
}

Result<std::uint64_t> decode_counter(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kFormat) return corrupt("counter");
  const auto value = in.u64();
  if (!in.finished()) return corrupt("counter");
  return value;
}

}  // namespace tidemark::table_store
