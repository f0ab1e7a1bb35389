// A compact byte format for records and internal messages: varints, fixed integers and length-prefixed strings.
//   varint: LEB128, at most 10 bytes.   string: varint length, then the bytes.   u64/i64: 8 bytes little-endian.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void boolean(bool v) { u8(v ? 1 : 0); }
  void varint(std::uint64_t v) {
    while (v >= 0x80) {
      out_.push_back(static_cast<char>(v | 0x80));
      v >>= 7;
    }
    out_.push_back(static_cast<char>(v));
  }
  void u64(std::uint64_t v) {
    char raw[8];
    std::memcpy(raw, &v, 8);
    out_.append(raw, 8);
  }
  void i64(std::int64_t v) { u64(static_cast<std::uint64_t>(v)); }
  void f64(double v) { u64(std::bit_cast<std::uint64_t>(v)); }
  void string(std::string_view v) {
    varint(v.size());
    out_.append(v);
  }
  void raw(std::string_view v) { out_.append(v); }

 private:
  std::string& out_;
};

/// Reads the bytes of a ByteWriter. After a read past the end, `ok()` is false and every read yields zero or an empty
/// view. Views point into the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  [[nodiscard]] bool ok() const { return ok_; }
  /// True if everything was read and nothing was missing.
  [[nodiscard]] bool finished() const { return ok_ && in_.empty(); }
  std::uint8_t u8() {
    auto raw = take(1);
    return raw.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(raw[0]);
  }
  bool boolean() { return u8() != 0; }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      auto byte = u8();
      if (!ok_) return 0;
      v |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return v;
    }
    ok_ = false;
    return 0;
  }
  std::uint64_t u64() {
    auto raw = take(8);
    std::uint64_t v = 0;
    if (!raw.empty()) std::memcpy(&v, raw.data(), 8);
    return v;
  }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  double f64() { return std::bit_cast<double>(u64()); }
  std::string_view string() { return take(varint()); }
  std::string_view raw(std::size_t n) { return take(n); }
  std::string_view rest() { return take(in_.size()); }

 private:
  std::string_view take(std::uint64_t n) {
    if (!ok_ || n > in_.size()) {
      ok_ = false;
      return {};
    }
    auto out = in_.substr(0, n);
    in_.remove_prefix(n);
    return out;
  }
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace tidemark
