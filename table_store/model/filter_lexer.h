// Splits the text of a $filter into tokens. Literals are converted here, so the parser sees only values. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

struct FilterToken {
  enum class Kind { kEnd, kOpen, kClose, kWord, kLiteral, kBad };
  Kind kind = Kind::kEnd;
  std::string_view text;       // as written
  std::size_t end = 0;         // offset after the token, for messages
  std::optional<Value> value;  // of a literal
};

class FilterLexer {
 public:
  explicit FilterLexer(std::string_view text) : text_(text) {}
  FilterToken next();

 private:
  FilterToken make(FilterToken::Kind kind, std::size_t start);
  /// Makes a token of the value; kBad without one.
  FilterToken literal(std::optional<Value> value, std::size_t start);
  FilterToken quoted(std::size_t start, std::string_view prefix);
  FilterToken number(std::size_t start);
  FilterToken word(std::size_t start);
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tidemark::table_store
