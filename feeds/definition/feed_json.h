// A person's declaration of a table's change feed: {"retention","maxBytes","values"}. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "common/base/error.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/feed.h"

namespace tidemark::feeds {

/// The members of a declaration.
struct FeedSpec {
  table_store::ChangeFeed feed = {};
  static constexpr const char* kSchema = "FeedSpec";
  void members(jobs::SpecMembers& in);
};

/// Absent members have the values of a new ChangeFeed. kInvalidInput, with every problem.
Result<table_store::ChangeFeed> parse_feed(std::string_view text);
nlohmann::json to_json(const table_store::ChangeFeed& feed);
/// Reads or writes the member "values": "keys", "old", "new" or "both".
void values_member(jobs::SpecMembers& in, bool& old_values, bool& new_values, const jobs::About& about);
/// Returns "insert", "replace", "merge", "delete", "drop" or "create".
std::string_view kind_name(table_store::ChangeKind kind);

}  // namespace tidemark::feeds
