#include "blob_store/model/tag_query.h"

#include <algorithm>
#include <set>

#include "blob_store/model/tags.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

constexpr std::string_view kContainerKey = "@container";

/// The elements that an expression may have besides the keys and values of tags.
struct Grammar {
  bool container_key = false;  // @container
  bool any_length = false;     // allows keys and values that no tag can have: a condition is then unmet, not wrong
};

/// Its errors give the place of the unexpected character.
class Lexer {
 public:
  Lexer(std::string_view text, Grammar grammar) : text_(text), rest_(trimmed(text)), grammar_(grammar) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  /// `ahead`: the distance of the place from the end of the text read so far, in characters.
  [[nodiscard]] std::unexpected<Error> malformed(std::string_view why, std::size_t ahead = 0) const {
    const auto position = static_cast<std::size_t>(rest_.data() - text_.data()) + ahead + 1;
    return fail(ErrorCode::kInvalidInput, "Error parsing query at or near character position " +
                                              std::to_string(position) + ": " + std::string(why));
  }
  bool take(std::string_view symbol) {
    if (!rest_.starts_with(symbol)) return false;
    advance(symbol.size());
    return true;
  }
  /// Takes the word only if it is a whole word; its case does not matter.
  bool take_word(std::string_view word) {
    if (!iequals_ascii(rest_.substr(0, word.size()), word)) return false;
    if (rest_.size() > word.size() && is_word_character(rest_[word.size()])) return false;
    advance(word.size());
    return true;
  }
  Result<TagTerm> take_term() {
    TagTerm term;
    term.key = TRY(take_key());
    const auto op = take_operator();
    if (!op) return malformed("expected an operator: =, <>, <, <=, > or >=");
    term.op = *op;
    term.value = TRY(term.key == kContainerKey ? take_quoted('\'') : take_value());
    return term;
  }

 private:
  static bool is_word_character(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
  void advance(std::size_t count) {
    rest_.remove_prefix(count);
    rest_ = trimmed(rest_);
  }
  Result<std::string> take_quoted(char quote) {
    if (!rest_.starts_with(quote)) return malformed("expected a tag value in single quotes");
    const auto end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return malformed("a quote is not closed", rest_.size());
    std::string inside(rest_.substr(1, end - 1));
    advance(end + 1);
    return inside;
  }
  Result<std::string> take_tag_text(char quote) {
    const auto here = *this;
    auto text = TRY(take_quoted(quote));
    const auto right = length_of_tag_characters(text);
    if (right == text.size()) return text;
    return here.malformed("a character is not permitted in tag name or value", right + 1);
  }
  Result<std::string> take_value() {
    const auto here = *this;
    auto value = TRY(take_tag_text('\''));
    if (grammar_.any_length || value.size() <= kMaxTagValue) return value;
    return here.malformed("tag value must be between 0 and 256 characters in length");
  }
  Result<std::string> take_key() {
    const auto here = *this;
    auto key = TRY(rest_.starts_with('"') ? take_tag_text('"') : take_bare_key());
    if (!key.empty() && (grammar_.any_length || key.size() <= kMaxTagKey)) return key;
    return here.malformed("tag must be between 1 and 128 characters in length");
  }
  /// A key without quotes may have only letters, digits and underscores.
  Result<std::string> take_bare_key() {
    const auto at = rest_.starts_with('@') ? 1 : 0;
    std::string key(rest_.begin(), std::find_if_not(rest_.begin() + at, rest_.end(), &is_word_character));
    if (key.empty()) return malformed("expected a tag name, in double quotes unless it is a word");
    const bool known = at == 0 || (grammar_.container_key && key == kContainerKey);
    if (!known) return malformed("unsupported parameter '" + key + "'");
    advance(key.size());
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

  std::string_view text_, rest_;
  Grammar grammar_;
};

/// Tells whether two terms may be in one query: two terms on the same tag must be the two ends of a range.
bool go_together(const TagTerm& one, const TagTerm& other) {
  using enum TagOperator;
  const auto is_lower_end = [](const TagTerm& term) { return term.op == kGreater || term.op == kGreaterOrEqual; };
  const auto is_upper_end = [](const TagTerm& term) { return term.op == kLess || term.op == kLessOrEqual; };
  return one.key != other.key || (is_lower_end(one) && is_upper_end(other)) ||
         (is_upper_end(one) && is_lower_end(other));
}

Result<void> check_terms(const std::vector<TagTerm>& terms) {
  const auto refuse = [](std::string_view why) {
    return fail(ErrorCode::kInvalidInput, "Error parsing query: " + std::string(why));
  };
  std::set<std::string_view> keys;
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    keys.insert(term->key);
    if (keys.size() > kMaxTags) return refuse("there can be at most 10 unique tags in a query");
    if (!std::all_of(terms.begin(), term, [&](const TagTerm& other) { return go_together(*term, other); })) {
      return refuse("can't have multiple conditions for a single tag unless they define a range");
    }
  }
  return {};
}

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

namespace {

/// A part of a condition. A stack evaluates the parts in their order.
struct Step {
  enum class Kind { kTerm, kAnd, kOr };
  Kind kind = Kind::kTerm;
  TagTerm term;
};

bool hold(const std::vector<Step>& steps, const Tags& tags) {
  std::vector<bool> stack;
  for (const auto& step : steps) {
    if (step.kind == Step::Kind::kTerm) {
      stack.push_back(step.term.holds(tags));
      continue;
    }
    const bool right = stack.back();
    stack.pop_back();
    stack.back() = step.kind == Step::Kind::kAnd ? stack.back() && right : stack.back() || right;
  }
  return stack.empty() || stack.back();
}

/// AND binds more closely than OR.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : lexer_(text, {.container_key = false, .any_length = true}) {}

  Result<std::vector<Step>> parse() {
    TRY(read_or(0));
    if (!lexer_.at_end()) return lexer_.malformed("expected AND, OR or the end");
    return std::move(steps_);
  }

 private:
  using Kind = Step::Kind;

  Result<void> read_or(std::size_t depth) {
    TRY(read_and(depth));
    while (lexer_.take_word("or")) {
      TRY(read_and(depth));
      steps_.push_back({Kind::kOr, {}});
    }
    return {};
  }
  Result<void> read_and(std::size_t depth) {
    TRY(read_atom(depth));
    while (lexer_.take_word("and")) {
      TRY(read_atom(depth));
      steps_.push_back({Kind::kAnd, {}});
    }
    return {};
  }
  Result<void> read_atom(std::size_t depth) {
    if (lexer_.take("(")) {
      if (depth == kMaxTagDepth) return lexer_.malformed("parentheses are too deep");
      TRY(read_or(depth + 1));
      return lexer_.take(")") ? Result<void>() : lexer_.malformed("expected a )");
    }
    auto term = TRY(lexer_.take_term());
    steps_.push_back({Kind::kTerm, std::move(term)});
    return {};
  }

  Lexer lexer_;
  std::vector<Step> steps_;
};

}  // namespace

bool TagCondition::holds(const Tags& tags) const {
  if (text.empty()) return true;
  const auto steps = ConditionParser(text).parse();
  return steps && hold(*steps, tags);
}

Result<TagCondition> TagCondition::parse(std::string_view text) {
  TRY(ConditionParser(text).parse());
  return TagCondition{std::string(text)};
}

bool TagSearch::matches(const Tags& tags) const {
  return std::ranges::all_of(terms, [&](const TagTerm& term) { return term.holds(tags); });
}

Result<TagSearch> TagSearch::parse(std::string_view text, SearchedIn place) {
  Lexer lexer(text, {.container_key = place == SearchedIn::kAccount, .any_length = false});
  TagSearch search;
  do {
    auto term = TRY(lexer.take_term());
    if (term.op == TagOperator::kNotEqual) return lexer.malformed("unexpected <>");
    if (term.key != kContainerKey) {
      search.terms.push_back(std::move(term));
    } else if (term.op != TagOperator::kEqual || search.container) {
      return lexer.malformed("@container has = and stands there once");
    } else {
      search.container = std::move(term.value);
    }
  } while (lexer.take_word("and"));
  if (!lexer.at_end()) return lexer.malformed("expected AND or the end");
  if (search.terms.empty()) return lexer.malformed("no tag is named");
  TRY(check_terms(search.terms));
  return search;
}

}  // namespace tidemark::blob_store
