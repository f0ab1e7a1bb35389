// Pages of a table's change feed, as the routes of feeds and of consumer groups answer them.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "api/rest/api_routes.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/feed.h"

namespace tidemark::api {

inline constexpr std::int64_t kLongestWaitS = 60;
/// The longest single wait of a long poll; the api must be able to end in between.
inline constexpr Duration kWaitSlice = std::chrono::seconds(2);

/// Returns the first page that has changes, or the page at the end of the wait. The time spent waiting is added to that
/// of the asker, which must outlive the task.
Task<Result<table_store::FeedPage>> await_changes(Api& api, http::Request& asker, std::string table,
                                                  table_store::FeedRequest request, Duration wait);
/// Checks that the requested values are kept. kInvalidInput.
Result<void> check_values(const table_store::FeedRequest& request, const table_store::ChangeFeed& feed);

/// Calls `each` with every change of a page and the token of the place behind it.
void each_change(std::string_view table, const table_store::FeedPage& page,
                 const std::function<void(const table_store::Change&, const std::string& token)>& each);
/// Returns "changes":[...],"next":TOKEN,"more":BOOL.
std::string page_members(std::string_view table, const table_store::FeedPage& page);

/// The members "lag" and, if changes are lost, "expired", of a reader of a feed.
struct ShownLag {
  std::optional<table_store::PlaceStatus> place;  // nothing: the table has no feed
  Time now{};
  void members(jobs::SpecMembers& to) const;
};
/// The members of a page of changes, which page_members() writes.
struct ShownPage {
  static constexpr const char* kSchema = "ChangePage";
  static void members(jobs::SpecMembers& to);
};

}  // namespace tidemark::api
