#include "jobs/kinds/index/run/index_pieces.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "table_store/model/limits.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::Property;

}  // namespace

std::string encode_index_key(std::string_view value) {
  auto out = jobs::escape_key_text(value);
  if (utf16_length(out) <= table_store::kMaxKeyUnits) return out;
  return "%sha256:" + hex_encode(sha256(value));
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
    if (utf16_length(value) <= table_store::kMaxStringUnits) piece.properties.push_back({"Value", std::string(value)});
    piece.entities = static_cast<std::uint64_t>(count);
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
  return entity.is_copy() && entity.find("Keys0") != nullptr && entity.find("Count") != nullptr &&
         entity.find("SourceVersion") != nullptr;
}

}  // namespace tidemark::workers
