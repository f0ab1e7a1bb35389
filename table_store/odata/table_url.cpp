#include "table_store/odata/table_url.h"

#include <optional>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kSyntaxError = "Bad Request - Error in query syntax.";

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

/// Takes a quoted literal off the front of `text`; a doubled quote stands for one.
std::optional<std::string> take_literal(std::string_view& text) {
  if (text.empty() || text.front() != '\'') return std::nullopt;
  std::string out;
  std::size_t at = 1;
  for (;;) {
    auto quote = text.find('\'', at);
    if (quote == std::string_view::npos) return std::nullopt;
    out.append(text.substr(at, quote - at));
    if (quote + 1 < text.size() && text[quote + 1] == '\'') {
      out.push_back('\'');
      at = quote + 2;
      continue;
    }
    text.remove_prefix(quote + 1);
    return out;
  }
}

bool take_char(std::string_view& text, char c) {
  text = trimmed_spaces(text);
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  text = trimmed_spaces(text);
  return true;
}

/// Parses "PartitionKey='p',RowKey='r'" in either order.
bool parse_keys(std::string_view text, TableUrl& url) {
  bool have_partition = false, have_row = false;
  for (int i = 0; i < 2; ++i) {
    if (i == 1 && !take_char(text, ',')) return false;
    text = trimmed_spaces(text);
    bool partition = text.starts_with("PartitionKey");
    if (!partition && !text.starts_with("RowKey")) return false;
    if (partition ? have_partition : have_row) return false;
    text.remove_prefix(partition ? 12 : 6);
    if (!take_char(text, '=')) return false;
    auto value = take_literal(text);
    if (!value) return false;
    (partition ? url.partition_key : url.row_key) = std::move(*value);
    (partition ? have_partition : have_row) = true;
  }
  return trimmed_spaces(text).empty();
}

Result<void> check_table_syntax(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_letter_or_digit(name[i]) && !(i == 0 && name[i] == '$')) return fail(ErrorCode::kInvalidResourceName);
  }
  if (name.empty()) return fail(ErrorCode::kInvalidUri);
  return {};
}

}  // namespace

Result<TableUrl> parse_table_url(std::string_view raw) {
  while (!raw.empty() && raw.back() == '/') raw.remove_suffix(1);
  TableUrl url;
  if (raw.empty()) return url;
  if (raw.find('/') != std::string_view::npos) return fail(ErrorCode::kInvalidInput, std::string(kSyntaxError));
  auto decoded = percent_decode(raw, false);
  if (!decoded || !is_valid_utf8(*decoded)) return fail(ErrorCode::kInvalidInput, std::string(kSyntaxError));
  std::string_view text = *decoded;
  if (text == "$batch") {
    url.kind = UrlKind::kBatch;
    return url;
  }
  if (text == "$operation") {
    url.kind = UrlKind::kOperation;
    return url;
  }
  auto open = text.find('(');
  auto name = text.substr(0, open);
  bool is_tables = iequals_ascii(name, "Tables");
  if (open == std::string_view::npos) {
    url.kind = is_tables ? UrlKind::kTables : UrlKind::kEntities;
    TRY(check_table_syntax(name));
    if (!is_tables) url.table = name;
    return url;
  }
  if (text.back() != ')') return fail(ErrorCode::kInvalidInput, std::string(kSyntaxError));
  auto inside = trimmed_spaces(text.substr(open + 1, text.size() - open - 2));
  if (is_tables) {
    url.kind = inside.empty() ? UrlKind::kTables : UrlKind::kTable;
    if (inside.empty()) return url;
    auto table = take_literal(inside);
    if (!table || !inside.empty()) return fail(ErrorCode::kInvalidInput, std::string(kSyntaxError));
    url.table = std::move(*table);
  } else {
    url.kind = inside.empty() ? UrlKind::kEntities : UrlKind::kEntity;
    url.table = name;
    if (!inside.empty() && !parse_keys(inside, url)) {
      return fail(ErrorCode::kInvalidInput, std::string(kSyntaxError));
    }
  }
  TRY(check_table_syntax(url.table));
  return url;
}

SplitUri split_uri(std::string_view uri) {
  SplitUri out;
  if (auto scheme = uri.find("://"); scheme != std::string_view::npos && scheme < uri.find_first_of("/?(") + 1) {
    uri.remove_prefix(scheme + 3);
    auto slash = uri.find_first_of("/?");
    uri = slash == std::string_view::npos ? std::string_view{} : uri.substr(slash);
  }
  auto question = uri.find('?');
  out.path = uri.substr(0, question);
  if (question != std::string_view::npos) out.query = uri.substr(question + 1);
  while (!out.path.empty() && out.path.front() == '/') out.path.remove_prefix(1);
  return out;
}

namespace {

void append_key(std::string& out, std::string_view key) {
  std::size_t begin = 0;
  for (;;) {
    auto quote = key.find('\'', begin);
    out += percent_encode(key.substr(begin, quote - begin));
    if (quote == std::string_view::npos) return;
    out += "''";
    begin = quote + 1;
  }
}

}  // namespace

void append_entity_path(std::string& out, std::string_view table, std::string_view partition_key,
                        std::string_view row_key) {
  out.append(table).append("(PartitionKey='");
  append_key(out, partition_key);
  out += "',RowKey='";
  append_key(out, row_key);
  out += "')";
}

}  // namespace tidemark::table_store
