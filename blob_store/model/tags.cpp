#include "blob_store/model/tags.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

bool has_only_tag_characters(std::string_view text) { return length_of_tag_characters(text) == text.size(); }

}  // namespace

std::size_t length_of_tag_characters(std::string_view text) {
  constexpr std::string_view kOthers = " +-./:=_";
  const auto* const end = std::ranges::find_if_not(
      text, [&](char c) { return is_letter(c) || is_digit(c) || kOthers.find(c) != std::string_view::npos; });
  return static_cast<std::size_t>(end - text.begin());
}

Result<Tags> checked_tags(Tags given) {
  if (given.size() > kMaxTags) return fail(ErrorCode::kTagsTooLarge);
  for (const auto& [key, value] : given) {
    if (key.empty()) return fail(ErrorCode::kEmptyTagName);
    if (key.size() > kMaxTagKey || value.size() > kMaxTagValue) return fail(ErrorCode::kTagsTooLarge);
    if (!has_only_tag_characters(key) || !has_only_tag_characters(value)) return fail(ErrorCode::kInvalidTag);
  }
  std::ranges::sort(given);
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::ranges::adjacent_find(given, same_key) != given.end()) return fail(ErrorCode::kDuplicateTagNames);
  return given;
}

Result<Tags> parse_tag_header(std::string_view form) {
  Tags tags;
  while (!form.empty()) {
    const auto item = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(item.size() + 1, form.size()));
    if (item.empty()) continue;
    if (tags.size() == kMaxTags) return fail(ErrorCode::kTagsTooLarge);
    const auto equals = std::min(item.find('='), item.size());
    auto key = percent_decode(item.substr(0, equals), true);
    auto value = percent_decode(item.substr(std::min(equals + 1, item.size())), true);
    if (!key || !value) return fail(ErrorCode::kInvalidTag);
    tags.emplace_back(std::move(*key), std::move(*value));
  }
  return checked_tags(std::move(tags));
}

const std::string* find_tag(const Tags& tags, std::string_view key) {
  const auto found = std::ranges::find(tags, key, &Tags::value_type::first);
  return found == tags.end() ? nullptr : &found->second;
}

}  // namespace tidemark::blob_store
