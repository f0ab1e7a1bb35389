#include "table_store/rest/continuation.h"

#include <algorithm>
#include <utility>

#include "common/base/encoding.h"

namespace tidemark::table_store {
namespace {
constexpr std::pair<char, char> kSubstitutes[] = {{'=', '-'}, {'/', '_'}, {'+', '*'}};
}  // namespace

std::string encode_token(std::string_view key) {
  auto text = base64_encode(key);
  for (const auto& [plain, safe] : kSubstitutes) std::replace(text.begin(), text.end(), plain, safe);
  return "1!" + std::to_string(text.size()) + "!" + text;
}

Result<std::string> decode_token(std::string_view token) {
  if (token.empty()) return std::string{};
  auto malformed = [] { return fail(ErrorCode::kInvalidInput, "The continuation token is not valid."); };
  auto mark = token.find('!', 2);
  if (!token.starts_with("1!") || mark == std::string_view::npos) return malformed();
  std::string text(token.substr(mark + 1));
  if (token.substr(2, mark - 2) != std::to_string(text.size())) return malformed();
  for (const auto& [plain, safe] : kSubstitutes) std::replace(text.begin(), text.end(), safe, plain);
  auto key = base64_decode(text);
  if (!key || !is_valid_utf8(*key)) return malformed();
  return std::move(*key);
}

}  // namespace tidemark::table_store
