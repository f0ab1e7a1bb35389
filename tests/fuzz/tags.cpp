// Index tags: a letter for the kind of text, then the text. An expression reads tags in any order, and the results of a
// search must match term by term.
#include "blob_store/model/tags.h"
#include "blob_store/model/tag_query.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace tidemark;
using namespace tidemark::blob_store;

const Tags kSomeTags[] = {{}, {{"a", "1"}}, {{"a", "1"}, {"b", "x y"}, {"c", ""}}};

void condition(std::string_view text) {
  const auto parsed = TagCondition::parse(text);
  if (!parsed) return;
  fuzz::require(!parsed->empty(), "a condition has terms");
  const auto in_parentheses = TagCondition::parse("(" + std::string(text) + ")");
  for (const auto& tags : kSomeTags) {
    const bool holds = parsed->holds(tags);
    if (in_parentheses) fuzz::require(in_parentheses->holds(tags) == holds, "parentheses around it change nothing");
  }
}

void search(std::string_view text) {
  const auto parsed = TagSearch::parse(text);
  if (!parsed) return;
  fuzz::require(!parsed->terms.empty() && parsed->terms.size() <= 2 * kMaxTags, "a search is bounded");
  for (const auto& tags : kSomeTags) {
    bool all = true;
    for (const auto& term : parsed->terms) all = all && term.holds(tags);
    fuzz::require(parsed->matches(tags) == all, "a search is all of its terms");
  }
}

void header(std::string_view text) {
  const auto tags = parse_tag_header(text);
  if (!tags) return;
  fuzz::require(tags->size() <= kMaxTags, "tags are bounded");
  const auto again = checked_tags(*tags);
  fuzz::require(again && *again == *tags, "tags that were taken are taken again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of(bytes + 1, size - 1);
  switch (bytes[0]) {
    case 'c':
      condition(text);
      break;
    case 's':
      search(text);
      break;
    case 'h':
      header(text);
      break;
    default:
      break;
  }
  return 0;
}
