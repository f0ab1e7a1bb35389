#include "common/base/query.h"

#include <algorithm>

#include "common/base/encoding.h"

namespace tidemark {
namespace {

constexpr std::size_t kMaxParameters = 100;

/// Tells whether an item of a query is a signature, however its name is written.
bool is_signature(std::string_view item) {
  const auto name = percent_decode(item.substr(0, item.find('=')), true);
  return name && iequals_ascii(*name, "sig");
}

}  // namespace

std::optional<QueryParameters> QueryParameters::parse(std::string_view raw) {
  std::optional<QueryParameters> out(std::in_place);
  if (raw.empty()) return out;
  out->parameters_.reserve(12);
  char* room = nullptr;
  const auto size = raw.size();
  // Decoded text is never longer than the raw text, so all pieces together fit.
  auto decode = [&](std::string_view& text, bool plus_is_space) {
    const bool plain = text.find('%') == text.npos && (!plus_is_space || text.find('+') == text.npos);
    if (plain) return true;
    if (room == nullptr) {
      out->decoded_ = std::make_unique_for_overwrite<char[]>(size);
      room = out->decoded_.get();
    }
    char* const end = percent_decode_to(text, plus_is_space, room);
    if (end == nullptr) return false;
    text = {room, static_cast<std::size_t>(end - room)};
    room = end;
    return true;
  };
  while (!raw.empty()) {
    const auto end = std::min(raw.find('&'), raw.size());
    const auto piece = raw.substr(0, end);
    raw.remove_prefix(std::min(end + 1, raw.size()));
    if (piece.empty()) continue;
    if (out->parameters_.size() == kMaxParameters) return std::nullopt;
    const auto equals = std::min(piece.find('='), piece.size());
    auto name = piece.substr(0, equals);
    auto value = piece.substr(std::min(equals + 1, piece.size()));
    if (!decode(name, true) || !decode(value, name != "sig")) return std::nullopt;
    out->parameters_.emplace_back(name, value);
  }
  return out;
}

std::optional<std::string_view> QueryParameters::find(std::string_view name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string without_signature(std::string_view url) {
  const auto question = url.find('?');
  std::string out(url.substr(0, question));
  if (question == std::string_view::npos) return out;
  auto rest = url.substr(question + 1);
  for (char mark = '?';; mark = '&') {
    const auto end = rest.find('&');
    const auto item = rest.substr(0, end);
    out += mark;
    if (is_signature(item)) {
      out += "sig=XXXXX";
    } else {
      out += item;
    }
    if (end == std::string_view::npos) return out;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace tidemark
