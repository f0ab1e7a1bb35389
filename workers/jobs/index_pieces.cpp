#include "workers/jobs/index_pieces.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::Property;

constexpr std::size_t kMaxKeyUnits = 512;

std::string guid_text(const table_store::Guid& guid) {
  const auto hex = hex_encode(std::string_view(reinterpret_cast<const char*>(guid.bytes.data()), guid.bytes.size()));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20);
}

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

bool needs_encoding(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  if (c < 0x20 || c == 0x7F || c == '/' || c == '\\' || c == '#' || c == '?' || c == '%') return true;
  // U+0080 to U+009F: both bytes of their UTF-8 form.
  const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  if (c == 0xC2 && i + 1 < text.size() && at(i + 1) < 0xA0) return true;
  return i > 0 && at(i - 1) == 0xC2 && c < 0xA0 && c >= 0x80;
}

}  // namespace

std::string escape_key_text(std::string_view value) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!needs_encoding(value, i)) {
      out += value[i];
      continue;
    }
    const auto c = static_cast<unsigned char>(value[i]);
    out += '%';
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return out;
}

std::string encode_index_key(std::string_view value) {
  auto out = escape_key_text(value);
  if (utf16_length(out) <= kMaxKeyUnits) return out;
  return "%sha256:" + hex_encode(sha256(value));
}

std::string value_text(const table_store::Value& value) {
  struct Text {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(std::int32_t v) const { return std::to_string(v); }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Time& v) const { return to_iso8601(v); }
    std::string operator()(const table_store::Guid& v) const { return guid_text(v); }
    std::string operator()(const table_store::Binary& v) const { return base64_encode(v.bytes); }
  };
  return std::visit(Text{}, value);
}

std::string piece_row_key(std::size_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%06zu", number);
  return digits;
}

std::vector<IndexPiece> make_pieces(std::string_view value, const std::vector<jobs::EntityKey>& keys,
                                    table_store::Version source_version) {
  std::vector<IndexPiece> pieces;
  std::vector<std::string> lists;  // of the piece at hand
  std::int32_t count = 0;
  std::string list;
  std::size_t units = 0;
  const auto end_list = [&] {
    if (!list.empty()) lists.push_back(list + "]");
    list.clear();
    units = 0;
  };
  const auto end_piece = [&] {
    end_list();
    if (lists.empty()) return;
    IndexPiece piece;
    piece.row_key = piece_row_key(pieces.size());
    // Base64 of a long binary is longer than a property may be; its digest in the key identifies it.
    const bool fits = utf16_length(value) <= 32'000;
    piece.properties.push_back({"Value", fits ? std::string(value) : std::string()});
    piece.properties.push_back({"Count", count});
    piece.properties.push_back({"SourceVersion", source_version});
    for (std::size_t i = 0; i < lists.size(); ++i) piece.properties.push_back({"Keys" + std::to_string(i), lists[i]});
    pieces.push_back(std::move(piece));
    lists.clear();
    count = 0;
  };
  for (const auto& key : keys) {
    const auto pair =
        json::array({key.partition_key, key.row_key}).dump(-1, ' ', false, json::error_handler_t::replace);
    const auto pair_units = utf16_length(pair) + 1;
    if (!list.empty() && units + pair_units > kKeysUnits) {
      end_list();
      if (lists.size() == kKeysPerPiece) end_piece();
    }
    list += list.empty() ? '[' : ',';
    list += pair;
    units += pair_units;
    ++count;
  }
  end_piece();
  return pieces;
}

bool is_piece(const table_store::Entity& entity) {
  return entity.source_version && entity.find("Keys0") != nullptr && entity.find("Count") != nullptr &&
         entity.find("SourceVersion") != nullptr;
}

}  // namespace tidemark::workers
