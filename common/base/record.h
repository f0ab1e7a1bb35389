// Stored records: a byte that names the format, then the fields. The fields of a record are listed once, both for
// writing and for reading, so that the two cannot differ:
//
//   constexpr auto kStagedBlock = record_format<StagedBlock>(1, "staged block", [](auto& io, auto& block) {
//     io.varint(block.payload);
//     io.varint(block.size);
//   });
//   std::string bytes = kStagedBlock.encode(block);
//   auto block = TRY(kStagedBlock.decode(bytes));
//
// Stored bytes outlive the program, so fields keep their order and meaning. A change of either is another format.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark {

inline std::unexpected<Error> corrupt_record(std::string_view what) {
  return fail(error_for_log(ErrorCode::kCorruption, "bad " + std::string(what) + " record"));
}

class RecordWriter {
 public:
  static constexpr bool kReads = false;
  explicit RecordWriter(std::string& out) : bytes(out) {}
  template <class T>
  void u8(T value) {
    bytes.u8(static_cast<std::uint8_t>(value));
  }
  void boolean(bool value) { bytes.boolean(value); }
  void varint(std::uint64_t value) { bytes.varint(value); }
  void u64(std::uint64_t value) { bytes.u64(value); }
  void i64(std::int64_t value) { bytes.i64(value); }
  void time(Time value) { bytes.i64(value.time_since_epoch().count()); }
  void string(std::string_view value) { bytes.string(value); }
  template <class T, class Each>
  void optional(const std::optional<T>& value, Each each) {
    bytes.boolean(value.has_value());
    if (value) each(*value);
  }
  template <class List, class Each>
  void list(const List& items, Each each) {
    bytes.varint(items.size());
    for (const auto& item : items) each(item);
  }

  ByteWriter bytes;
};

class RecordReader {
 public:
  static constexpr bool kReads = true;
  explicit RecordReader(std::string_view in) : bytes(in) {}
  template <class T>
  void u8(T& value) {
    value = static_cast<T>(bytes.u8());
  }
  void boolean(bool& value) { value = bytes.boolean(); }
  template <class T>
  void varint(T& value) {
    value = static_cast<T>(bytes.varint());
  }
  void u64(std::uint64_t& value) { value = bytes.u64(); }
  void i64(std::int64_t& value) { value = bytes.i64(); }
  void time(Time& value) { value = Time(Ticks(bytes.i64())); }
  void string(std::string& value) { value = bytes.string(); }
  template <class T, class Each>
  void optional(std::optional<T>& value, Each each) {
    if (bytes.boolean()) each(value.emplace());
  }
  template <class List, class Each>
  void list(List& items, Each each) {
    for (auto left = bytes.varint(); left > 0 && bytes.ok(); --left) each(items.emplace_back());
  }

  ByteReader bytes;
};

template <class Record, class Fields>
struct RecordFormat {
  std::uint8_t format;
  std::string_view what;
  Fields fields;

  /// `room` is the approximate number of bytes.
  [[nodiscard]] std::string encode(const Record& record, std::size_t room = 0) const {
    std::string bytes;
    bytes.reserve(room);
    RecordWriter io(bytes);
    io.u8(format);
    fields(io, record);
    return bytes;
  }
  /// kCorruption if the format is another one, or if bytes are missing or left over.
  [[nodiscard]] Result<Record> decode(std::string_view bytes) const {
    RecordReader io(bytes);
    Record record;
    if (io.bytes.u8() != format) return corrupt_record(what);
    fields(io, record);
    if (!io.bytes.finished()) return corrupt_record(what);
    return record;
  }
};

template <class Record, class Fields>
constexpr RecordFormat<Record, Fields> record_format(std::uint8_t format, std::string_view what, Fields fields) {
  return {format, what, fields};
}

}  // namespace tidemark
