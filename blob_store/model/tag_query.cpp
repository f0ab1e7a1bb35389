#include "blob_store/model/tag_query.h"

#include <algorithm>

#include "blob_store/model/tags.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kInvalidInput, "The expression on tags cannot be read: " + std::string(what) + ".");
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(trimmed(text)) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  bool take(std::string_view symbol) {
    if (!rest_.starts_with(symbol)) return false;
    advance(symbol.size());
    return true;
  }
  /// Only as a whole word, in any case.
  bool take_word(std::string_view word) {
    if (!iequals_ascii(rest_.substr(0, word.size()), word)) return false;
    if (rest_.size() > word.size() && is_key_character(rest_[word.size()])) return false;
    advance(word.size());
    return true;
  }
  Result<TagTerm> take_term() {
    TagTerm term;
    term.key = TRY(take_key());
    const auto op = take_operator();
    if (!op) return malformed("after a key there must be =, <>, <, <=, > or >=");
    term.op = *op;
    term.value = TRY(take_quoted('\'', "a value must be in single quotes"));
    if (term.value.size() > kMaxTagValue) return malformed("a value is too long");
    return term;
  }

 private:
  static bool is_key_character(char c) {
    return is_letter(c) || is_digit(c) || std::string_view("_@.-+/:").find(c) != std::string_view::npos;
  }
  void advance(std::size_t count) {
    rest_.remove_prefix(count);
    rest_ = trimmed(rest_);
  }
  Result<std::string> take_quoted(char quote, std::string_view otherwise) {
    if (!rest_.starts_with(quote)) return malformed(otherwise);
    const auto end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return malformed("a quote is not closed");
    std::string inside(rest_.substr(1, end - 1));
    advance(end + 1);
    return inside;
  }
  Result<std::string> take_key() {
    std::string key;
    if (rest_.starts_with('"')) {
      key = TRY(take_quoted('"', ""));
    } else {
      const auto end = std::ranges::find_if_not(rest_, &is_key_character);
      key.assign(rest_.begin(), end);
      advance(key.size());
    }
    if (key.empty()) return malformed("a key is missing");
    if (key.size() > kMaxTagKey) return malformed("a key is too long");
    return key;
  }
  std::optional<TagOperator> take_operator() {
    using enum TagOperator;
    constexpr std::pair<std::string_view, TagOperator> kOperators[] = {
        {"<>", kNotEqual}, {"<=", kLessOrEqual}, {">=", kGreaterOrEqual}, {"=", kEqual}, {"<", kLess}, {">", kGreater}};
    for (const auto& [symbol, op] : kOperators) {
      if (take(symbol)) return op;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

bool TagTerm::holds(const Tags& tags) const {
  const auto* found = find_tag(tags, key);
  if (found == nullptr) return op == TagOperator::kNotEqual;
  switch (op) {
    case TagOperator::kEqual:
      return *found == value;
    case TagOperator::kNotEqual:
      return *found != value;
    case TagOperator::kLess:
      return *found < value;
    case TagOperator::kLessOrEqual:
      return *found <= value;
    case TagOperator::kGreater:
      return *found > value;
    case TagOperator::kGreaterOrEqual:
      return *found >= value;
  }
  return false;
}

bool TagCondition::holds(const Tags& tags) const {
  std::vector<bool> stack;
  for (const auto& step : steps_) {
    if (step.kind == Kind::kTerm) {
      stack.push_back(step.term.holds(tags));
      continue;
    }
    const bool right = stack.back();
    stack.pop_back();
    stack.back() = step.kind == Kind::kAnd ? stack.back() && right : stack.back() || right;
  }
  return stack.empty() || stack.back();
}

/// AND binds more closely than OR.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : lexer_(text) {}

  Result<TagCondition> parse() {
    TRY(read_or(0));
    if (!lexer_.at_end()) return malformed("something follows its end");
    return std::move(out_);
  }

 private:
  using Kind = TagCondition::Kind;

  Result<void> read_or(std::size_t depth) {
    TRY(read_and(depth));
    while (lexer_.take_word("or")) {
      TRY(read_and(depth));
      out_.steps_.push_back({Kind::kOr, {}});
    }
    return {};
  }
  Result<void> read_and(std::size_t depth) {
    TRY(read_atom(depth));
    while (lexer_.take_word("and")) {
      TRY(read_atom(depth));
      out_.steps_.push_back({Kind::kAnd, {}});
    }
    return {};
  }
  Result<void> read_atom(std::size_t depth) {
    if (lexer_.take("(")) {
      if (depth == kMaxTagDepth) return malformed("its parentheses are too deep");
      TRY(read_or(depth + 1));
      return lexer_.take(")") ? Result<void>() : malformed("a parenthesis is not closed");
    }
    if (++terms_ > kMaxTagTerms) return malformed("it has too many terms");
    auto term = TRY(lexer_.take_term());
    out_.steps_.push_back({Kind::kTerm, std::move(term)});
    return {};
  }

  Lexer lexer_;
  TagCondition out_;
  std::size_t terms_ = 0;
};

Result<TagCondition> TagCondition::parse(std::string_view text) { return ConditionParser(text).parse(); }

bool TagSearch::matches(const Tags& tags) const {
  return std::ranges::all_of(terms, [&](const TagTerm& term) { return term.holds(tags); });
}

Result<TagSearch> TagSearch::parse(std::string_view text) {
  Lexer lexer(text);
  TagSearch search;
  do {
    if (search.terms.size() == kMaxTagTerms) return malformed("it has too many terms");
    auto term = TRY(lexer.take_term());
    if (term.op == TagOperator::kNotEqual) return malformed("a search does not have <>");
    if (term.key != "@container") {
      search.terms.push_back(std::move(term));
    } else if (term.op != TagOperator::kEqual || search.container) {
      return malformed("@container has = and stands there once");
    } else {
      search.container = std::move(term.value);
    }
  } while (lexer.take_word("and"));
  if (!lexer.at_end()) return malformed("its terms are joined by AND alone");
  if (search.terms.empty()) return malformed("it names no tag");
  return search;
}

}  // namespace tidemark::blob_store
