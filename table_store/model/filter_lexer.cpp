#include "table_store/model/filter_lexer.h"

#include <algorithm>
#include <limits>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"

namespace tidemark::table_store {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_word(char c) { return is_letter(c) || c == '_' || is_digit(c) || static_cast<unsigned char>(c) >= 0x80; }

template <class T>
std::optional<Value> made_of(std::optional<T> parsed) {
  return parsed ? std::optional<Value>(std::move(*parsed)) : std::nullopt;
}

bool is_prefix(std::string_view word) {
  constexpr std::string_view kPrefixes[] = {"datetime", "guid", "x", "binary"};
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return iequals_ascii(prefix, word); });
}

/// Converts a literal by its prefix; without one it is a string.
std::optional<Value> typed_value(std::string_view prefix, std::string text) {
  if (prefix.empty()) return Value(std::move(text));
  if (iequals_ascii(prefix, "datetime")) return made_of(parse_iso8601(text));
  if (iequals_ascii(prefix, "guid")) return made_of(parse_guid(text));
  auto bytes = hex_decode(text);
  return bytes ? std::optional<Value>(Binary{std::move(*bytes)}) : std::nullopt;
}

std::optional<Value> number_value(std::string_view text) {
  const char last = text.back();
  if (text.starts_with('+')) text.remove_prefix(1);
  if (last == 'L' || last == 'l') return made_of(parse_number<std::int64_t>(text.substr(0, text.size() - 1)));
  if (text.find_first_of(".eEdDfF") == std::string_view::npos) return made_of(parse_number<std::int32_t>(text));
  if (last == 'd' || last == 'D' || last == 'f' || last == 'F') text.remove_suffix(1);
  return made_of(parse_double(text));
}

}  // namespace

FilterToken FilterLexer::make(FilterToken::Kind kind, std::size_t start) {
  return {kind, text_.substr(start, at_ - start), at_, std::nullopt};
}

FilterToken FilterLexer::literal(std::optional<Value> value, std::size_t start) {
  auto token = make(value ? FilterToken::Kind::kLiteral : FilterToken::Kind::kBad, start);
  token.value = std::move(value);
  return token;
}

FilterToken FilterLexer::quoted(std::size_t start, std::string_view prefix) {
  std::string out;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] != '\'') {
      out.push_back(text_[at_]);
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
      out.push_back('\'');
      ++at_;
    } else {
      ++at_;
      return literal(typed_value(prefix, std::move(out)), start);
    }
  }
  return make(FilterToken::Kind::kBad, start);
}

FilterToken FilterLexer::number(std::size_t start) {
  if (text_.substr(at_).starts_with("-INF") && (at_ + 4 == text_.size() || !is_word(text_[at_ + 4]))) {
    at_ += 4;
    return literal(-std::numeric_limits<double>::infinity(), start);
  }
  ++at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool exponent_sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (!is_word(c) && c != '.' && !exponent_sign) break;
    ++at_;
  }
  return literal(number_value(text_.substr(start, at_ - start)), start);
}

FilterToken FilterLexer::word(std::size_t start) {
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  const auto text = text_.substr(start, at_ - start);
  if (at_ < text_.size() && text_[at_] == '\'' && is_prefix(text)) return quoted(start, text);
  if (iequals_ascii(text, "true")) return literal(true, start);
  if (iequals_ascii(text, "false")) return literal(false, start);
  // Exact case: `nan` and `inf` are ordinary property names in the wild.
  if (text == "NaN") return literal(std::numeric_limits<double>::quiet_NaN(), start);
  // The .NET SDKs write `Infinity`.
  if (text == "INF" || text == "Infinity") return literal(std::numeric_limits<double>::infinity(), start);
  return make(FilterToken::Kind::kWord, start);
}

FilterToken FilterLexer::next() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  const auto start = at_;
  if (at_ == text_.size()) return make(FilterToken::Kind::kEnd, start);
  const char c = text_[at_];
  if (c == '\'') return quoted(start, {});
  if (is_digit(c) || c == '-' || c == '+') return number(start);
  if (is_word(c)) return word(start);
  ++at_;
  if (c == '(') return make(FilterToken::Kind::kOpen, start);
  if (c == ')') return make(FilterToken::Kind::kClose, start);
  return make(FilterToken::Kind::kBad, start);
}

}  // namespace tidemark::table_store
