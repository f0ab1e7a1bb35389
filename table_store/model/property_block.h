// The bytes of an entity's properties in records and messages (common/base/bytes.h), and reading them in place:
//
//   varint count | count * (name string | type u8 | value)
//   type 1 String: string   2 Int32: zigzag varint   3 Int64: i64   4 Double: f64   5 Boolean: u8 0 or 1
//   6 DateTime: i64 ticks since 1970   7 Guid: 16 bytes   8 Binary: string
//
// Reading checks everything; views point into the block. Pure; any thread.
#pragma once
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/bytes.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

struct BinaryView {
  std::string_view bytes;
};

/// A Value that is not copied, with the same alternatives in the same order.
using ValueView = std::variant<std::string_view, std::int32_t, std::int64_t, double, bool, Time, Guid, BinaryView>;
ValueView view_of(const Value& value);
Value value_of(const ValueView& view);

/// Walks a block: `while (reader.next()) use(reader.name(), reader.value());`, then ask ok().
class PropertyReader {
 public:
  explicit PropertyReader(std::string_view block);
  /// Returns false at the end, and for bytes that are not properties.
  bool next();
  [[nodiscard]] std::string_view name() const { return name_; }
  /// Decodes the value at each call; skipping a property costs less.
  [[nodiscard]] ValueView value() const;
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// Returns the bytes after the properties read so far.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  bool take_varint(std::uint64_t& out);
  bool take(std::uint64_t size, std::string_view& out);
  bool take_value();
  std::string_view rest_;
  std::string_view name_;
  std::string_view raw_;  // of the value, without the length of a string
  std::uint64_t left_ = 0;
  std::uint8_t type_ = 0;
  bool ok_ = true;
};

/// Tells whether the bytes are exactly one valid block.
bool is_property_block(std::string_view bytes);

std::string property_block(const std::vector<Property>& properties);

}  // namespace tidemark::table_store
