#include "feeds/definition/feed_json.h"

#include "common/base/json.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::feeds {
namespace {

using table_store::ChangeFeed;
using table_store::ChangeKind;

enum class Values : std::uint8_t { kKeys, kNew, kOld, kBoth };
constexpr jobs::Names<Values, 4> kValues{
    {{Values::kKeys, "keys"}, {Values::kNew, "new"}, {Values::kOld, "old"}, {Values::kBoth, "both"}}};
constexpr jobs::Names<ChangeKind, 6> kKinds{{{ChangeKind::kInsert, "insert"},
                                             {ChangeKind::kReplace, "replace"},
                                             {ChangeKind::kMerge, "merge"},
                                             {ChangeKind::kDelete, "delete"},
                                             {ChangeKind::kDrop, "drop"},
                                             {ChangeKind::kCreate, "create"}}};

constexpr jobs::About kAboutRetention{.meaning = "how many seconds a change is kept"};
constexpr jobs::About kAboutBytes{
    .meaning = "how much is kept; the oldest changes go first. An eighth more may be there for a while"};
constexpr jobs::About kAboutValues{
    .meaning = "entities that are kept with the keys: as they were before a change, after it, or both"};

}  // namespace

void FeedSpec::members(jobs::SpecMembers& in) {
  in.number("retention", feed.retention_s, 1, table_store::kMostRetention, kAboutRetention);
  in.number("maxBytes", feed.max_bytes, table_store::kLeastFeedBytes, table_store::kMostFeedBytes, kAboutBytes);
  values_member(in, feed.old_values, feed.new_values, kAboutValues);
}

void values_member(jobs::SpecMembers& in, bool& old_values, bool& new_values, const jobs::About& about) {
  auto values = old_values ? (new_values ? Values::kBoth : Values::kOld) : (new_values ? Values::kNew : Values::kKeys);
  in.choice("values", kValues, values, about);
  old_values = values == Values::kOld || values == Values::kBoth;
  new_values = values == Values::kNew || values == Values::kBoth;
}

Result<ChangeFeed> parse_feed(std::string_view text) {
  const auto body = TRY(read_json(text.empty() ? "{}" : text));
  if (!body.is_object()) return fail(ErrorCode::kInvalidInput, "A feed is a JSON object.");
  jobs::SpecMembers in(body);
  FeedSpec spec;
  spec.members(in);
  in.refuse_unknown();
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kInvalidInput, "The feed is not valid: ", in.problems());
  return spec.feed;
}

nlohmann::json to_json(const ChangeFeed& feed) { return jobs::members_json(FeedSpec{feed}); }

std::string_view kind_name(ChangeKind kind) { return jobs::name_in(kKinds, kind); }

}  // namespace tidemark::feeds
