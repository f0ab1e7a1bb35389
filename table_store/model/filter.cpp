// Recursive descent over FilterLexer's tokens, by the grammar that filter.h names. Chains of `and` and `or` become one
// flat node, also when each step has its own parentheses, as client libraries that combine filters write them:
// (((a) or (b)) or (c)). So the tree is shallow; the nesting of the text is bounded.
#include "table_store/model/filter.h"

#include "common/base/encoding.h"
#include "table_store/model/filter_lexer.h"
#include "table_store/model/filter_node.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxFilterBytes = 64UL * 1024;
constexpr std::size_t kMaxEchoedBytes = 1024;
constexpr int kMaxDepth = 512;

using Node = std::unique_ptr<FilterNode>;
using Kind = FilterNode::Kind;
using TokenKind = FilterToken::Kind;

std::optional<CompareOp> op_of(const FilterToken& token) {
  static constexpr std::pair<std::string_view, CompareOp> kOps[] = {{"eq", CompareOp::kEq}, {"ne", CompareOp::kNe},
                                                                    {"gt", CompareOp::kGt}, {"ge", CompareOp::kGe},
                                                                    {"lt", CompareOp::kLt}, {"le", CompareOp::kLe}};
  if (token.kind != TokenKind::kWord) return std::nullopt;
  for (const auto& [name, op] : kOps) {
    if (iequals_ascii(name, token.text)) return op;
  }
  return std::nullopt;
}

/// Returns the operator for exchanged operands.
CompareOp flipped(CompareOp op) {
  using enum CompareOp;
  constexpr CompareOp kFlipped[] = {kEq, kNe, kLt, kLe, kGt, kGe};
  return kFlipped[static_cast<std::size_t>(op)];
}

bool is_arithmetic(const FilterToken& token) {
  if (token.kind != TokenKind::kWord) return false;
  for (const std::string_view word : {"add", "sub", "mul", "div", "mod"}) {
    if (iequals_ascii(word, token.text)) return true;
  }
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text), token_(lexer_.next()) {}

  Result<Node> parse() {
    auto root = TRY(chain(Kind::kOr));
    if (token_.kind != TokenKind::kEnd) return syntax_error(token_);
    return root;
  }

 private:
  bool is_word(std::string_view word) const {
    return token_.kind == TokenKind::kWord && iequals_ascii(word, token_.text);
  }
  FilterToken take() { return std::exchange(token_, lexer_.next()); }

  std::unexpected<Error> syntax_error(const FilterToken& at) const {
    auto message = "Syntax error at position " + std::to_string(utf16_length(text_.substr(0, at.end)));
    if (text_.size() <= kMaxEchoedBytes) message += " in '" + std::string(text_) + "'";
    return fail(ErrorCode::kInvalidInput, message + ".");
  }

  Result<Node> chain(Kind kind) {
    auto first = kind == Kind::kOr ? chain(Kind::kAnd) : unary();
    const std::string_view word = kind == Kind::kOr ? "or" : "and";
    if (!first || !is_word(word)) return first;
    auto node = std::make_unique<FilterNode>();
    node->kind = kind;
    adopt(*node, std::move(*first));
    while (is_word(word)) {
      take();
      auto more = TRY(kind == Kind::kOr ? chain(Kind::kAnd) : unary());
      adopt(*node, std::move(more));
    }
    return node;
  }

  static void adopt(FilterNode& parent, Node child) {
    if (child->kind != parent.kind) return parent.children.push_back(std::move(child));
    std::move(child->children.begin(), child->children.end(), std::back_inserter(parent.children));
  }

  /// Tells whether the open parenthesis holds one operand of a comparison, as in "(a) eq 5".
  bool opens_operand() const {
    auto ahead = lexer_;
    const auto inside = ahead.next();
    const bool may_be_one = inside.kind == TokenKind::kWord || inside.kind == TokenKind::kLiteral;
    return may_be_one && ahead.next().kind == TokenKind::kClose && op_of(ahead.next());
  }

  Result<Node> unary() {
    if (!is_word("not") && (token_.kind != TokenKind::kOpen || opens_operand())) return comparison();
    if (++depth_ > kMaxDepth) return fail(ErrorCode::kInvalidInput, "The filter is nested too deeply.");
    const bool negate = is_word("not");
    take();
    auto inner = TRY(negate ? unary() : chain(Kind::kOr));
    --depth_;
    if (!negate) {
      if (token_.kind != TokenKind::kClose) return syntax_error(token_);
      take();
      return inner;
    }
    auto node = std::make_unique<FilterNode>();
    node->kind = Kind::kNot;
    node->children.push_back(std::move(inner));
    return node;
  }

  /// Reads an operand, which may have parentheses of its own.
  Result<FilterToken> operand() {
    if (token_.kind != TokenKind::kOpen) return bare_operand();
    take();
    auto inside = TRY(bare_operand());
    if (token_.kind != TokenKind::kClose) return syntax_error(token_);
    take();
    return inside;
  }

  Result<FilterToken> bare_operand() {
    auto token = take();
    const bool reserved = op_of(token) || (token.kind == TokenKind::kWord &&
                                           (iequals_ascii(token.text, "and") || iequals_ascii(token.text, "or")));
    if (reserved || (token.kind != TokenKind::kWord && token.kind != TokenKind::kLiteral)) return syntax_error(token);
    if (token.kind == TokenKind::kWord && token_.kind == TokenKind::kOpen) {
      return fail(ErrorCode::kNotImplemented, "Functions are not supported in a filter.");
    }
    if (is_arithmetic(token_)) {
      return fail(ErrorCode::kNotImplemented, "Arithmetic is not supported in a filter.");
    }
    return token;
  }

  Result<Node> comparison() {
    auto left = TRY(operand());
    const auto op = op_of(token_);
    if (!op) return alone(left);
    take();
    auto right = TRY(operand());
    if (left.value.has_value() == right.value.has_value()) {
      return fail(ErrorCode::kInvalidInput, "A comparison in a filter needs one property and one literal.");
    }
    auto node = std::make_unique<FilterNode>();
    node->kind = Kind::kComparison;
    node->op = left.value ? flipped(*op) : *op;
    name_property(*node, left.value ? right.text : left.text);
    node->literal = std::move(left.value ? *left.value : *right.value);
    const bool is_key = node->field == Field::kPartitionKey || node->field == Field::kRowKey;
    if ((is_key && !std::holds_alternative<std::string>(node->literal)) ||
        (node->field == Field::kTimestamp && !std::holds_alternative<Time>(node->literal))) {
      return fail(ErrorCode::kInvalidInput, "A binary operator with incompatible types was detected: '" +
                                                node->property + "' cannot be compared with this literal.");
    }
    return node;
  }

  /// Makes a node of an operand that is not compared: a Boolean literal or property.
  Result<Node> alone(const FilterToken& token) {
    auto node = std::make_unique<FilterNode>();
    if (token.value) {
      const auto* constant = std::get_if<bool>(&*token.value);
      if (constant == nullptr) return syntax_error(token_);
      node->kind = Kind::kConstant;
      node->constant = *constant;
      return node;
    }
    const bool ends =
        token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kClose || is_word("and") || is_word("or");
    node->kind = Kind::kProperty;
    name_property(*node, token.text);
    if (!ends || node->field != Field::kOwn) return syntax_error(token_);
    return node;
  }

  static void name_property(FilterNode& node, std::string_view name) {
    node.property = name;
    node.field = name == "PartitionKey" ? Field::kPartitionKey
                 : name == "RowKey"     ? Field::kRowKey
                 : name == "Timestamp"  ? Field::kTimestamp
                                        : Field::kOwn;
  }

  std::string_view text_;
  FilterLexer lexer_;
  FilterToken token_;
  int depth_ = 0;
};

void collect_names(const FilterNode& node, std::vector<std::string>& into) {
  const bool names_one = node.kind == Kind::kComparison || node.kind == Kind::kProperty;
  if (names_one && node.field == Field::kOwn) into.push_back(node.property);
  for (const auto& child : node.children) collect_names(*child, into);
}

void assign_slots(FilterNode& node, const std::vector<std::string>& names) {
  const auto place = std::lower_bound(names.begin(), names.end(), node.property);
  node.slot = static_cast<std::size_t>(place - names.begin());
  for (const auto& child : node.children) assign_slots(*child, names);
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<Filter> Filter::parse(std::string_view text) {
  Filter filter;
  if (text.size() > kMaxFilterBytes) return fail(ErrorCode::kInvalidInput, "The filter is longer than 64 KiB.");
  if (!is_valid_utf8(text)) return fail(ErrorCode::kInvalidInput, "The filter is not valid UTF-8.");
  if (is_blank(text)) return filter;
  auto root = TRY(Parser(text).parse());
  auto names = std::make_shared<std::vector<std::string>>();
  collect_names(*root, *names);
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
  assign_slots(*root, *names);
  filter.root_ = std::move(root);
  filter.names_ = std::move(names);
  return filter;
}

}  // namespace tidemark::table_store
