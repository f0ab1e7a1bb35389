#include "table_store/model/property_block.h"

namespace tidemark::table_store {
namespace {

// The smallest property: empty name, type, one byte. Bounds the count that a block may claim.
constexpr std::size_t kMinPropertyBytes = 3;

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

struct Viewer {
  ValueView operator()(const std::string& v) const { return std::string_view(v); }
  ValueView operator()(const Binary& v) const { return BinaryView{v.bytes}; }
  template <class T>
  ValueView operator()(const T& v) const {
    return v;
  }
};

struct Copier {
  Value operator()(std::string_view v) const { return std::string(v); }
  Value operator()(const BinaryView& v) const { return Binary{std::string(v.bytes)}; }
  template <class T>
  Value operator()(const T& v) const {
    return v;
  }
};

std::int64_t i64_of(std::string_view raw) { return ByteReader(raw).i64(); }

}  // namespace

ValueView view_of(const Value& value) { return std::visit(Viewer{}, value); }
Value value_of(const ValueView& view) { return std::visit(Copier{}, view); }

PropertyReader::PropertyReader(std::string_view block) : rest_(block) {
  ok_ = take_varint(left_) && left_ <= rest_.size() / kMinPropertyBytes;
}

bool PropertyReader::take_varint(std::uint64_t& out) {
  // Most lengths are one byte.
  if (!rest_.empty() && static_cast<unsigned char>(rest_[0]) < 0x80) {
    out = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return true;
  }
  ByteReader in(rest_);
  out = in.varint();
  if (!in.ok()) return false;
  rest_ = in.rest();
  return true;
}

bool PropertyReader::take(std::uint64_t size, std::string_view& out) {
  if (size > rest_.size()) return false;
  out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool PropertyReader::take_value() {
  std::uint64_t size = 0;
  const auto before = rest_;
  switch (type_) {
    case 1:
    case 8:
      return take_varint(size) && take(size, raw_);
    case 2:
      if (!take_varint(size) || size > 0xFFFFFFFFU) return false;
      raw_ = before.substr(0, before.size() - rest_.size());
      return true;
    case 3:
    case 4:
    case 6:
      return take(8, raw_);
    case 5:
      return take(1, raw_) && static_cast<unsigned char>(raw_[0]) <= 1;
    case 7:
      return take(16, raw_);
    default:
      return false;
  }
}

bool PropertyReader::next() {
  if (!ok_ || left_ == 0) return false;
  --left_;
  std::uint64_t size = 0;
  ok_ = take_varint(size) && take(size, name_) && !rest_.empty();
  if (!ok_) return false;
  type_ = static_cast<std::uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  ok_ = take_value();
  return ok_;
}

ValueView PropertyReader::value() const {
  switch (type_) {
    case 2:
      return unzigzag(static_cast<std::uint32_t>(ByteReader(raw_).varint()));
    case 3:
      return i64_of(raw_);
    case 4:
      return ByteReader(raw_).f64();
    case 5:
      return raw_[0] == 1;
    case 6:
      return Time(Ticks(i64_of(raw_)));
    case 7: {
      Guid guid;
      std::memcpy(guid.bytes.data(), raw_.data(), guid.bytes.size());
      return guid;
    }
    case 8:
      return BinaryView{raw_};
    default:
      return raw_;
  }
}

bool is_property_block(std::string_view bytes) {
  PropertyReader reader(bytes);
  while (reader.next()) {
  }
  return reader.ok() && reader.rest().empty();
}

std::string property_block(const std::vector<Property>& properties) {
  constexpr std::size_t kBesideTexts = 24;  // a type, two lengths, a value of a fixed size
  std::size_t bytes = kBesideTexts;
  for (const auto& property : properties) {
    bytes += kBesideTexts + property.name.size();
    if (const auto* text = std::get_if<std::string>(&property.value)) bytes += text->size();
    if (const auto* binary = std::get_if<Binary>(&property.value)) bytes += binary->bytes.size();
  }
  std::string block;
  block.reserve(bytes);
  ByteWriter out(block);
  out.varint(properties.size());
  for (const auto& property : properties) {
    out.string(property.name);
    out.u8(static_cast<std::uint8_t>(property.value.index() + 1));
    std::visit(ValueWriter{out}, property.value);
  }
  return block;
}

}  // namespace tidemark::table_store
