#include "api/rest/feed_pages.h"

#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "feeds/definition/change_text.h"
#include "feeds/tokens/token.h"

namespace tidemark::api {

using table_store::Change;
using table_store::FeedPage;
using table_store::FeedRequest;

Task<Result<FeedPage>> await_changes(Api& api, http::Request& asker, std::string table, FeedRequest request,
                                     Duration wait) {
  const auto end = api.clock.monotonic() + wait;
  request.wait = Duration::zero();
  for (;;) {
    const auto begun = api.clock.monotonic();
    auto page = CO_TRY(co_await api.tables.changes(table, request));
    const auto now = api.clock.monotonic();
    asker.waited += std::min(now - begun, request.wait);
    const bool in_vain = api.stopping->load() || (asker.peer_gone && asker.peer_gone());
    if (!page.changes.empty() || now >= end || in_vain) co_return page;
    request.start = table_store::FeedStart::kPlace;
    request.place = page.next;
    request.wait = std::min(end - now, kWaitSlice);
  }
}

Result<void> check_values(const FeedRequest& request, const table_store::ChangeFeed& feed) {
  if (!request.select.empty()) return {};  // the selection applies to the values that are kept
  const bool old_missing = request.old_values && !feed.old_values;
  if (!old_missing && (!request.new_values || feed.new_values)) return {};
  return fail(ErrorCode::kInvalidInput, std::string("The feed keeps no ") + (old_missing ? "old" : "new") +
                                            " values: declare it with \"values\":\"both\" for the changes to come.");
}

void each_change(std::string_view table, const FeedPage& page,
                 const std::function<void(const Change&, const std::string& token)>& each) {
  auto place = page.begin;
  for (const auto& change : page.changes) {
    table_store::pass(place, change);
    each(change, feeds::token_of(table, place));
  }
}

namespace {

struct LagOfReader {
  std::uint64_t changes = 0, bytes = 0;
  Duration oldest{};
  void members(jobs::SpecMembers& to) const {
    to.shows("changes", changes);
    to.shows("bytes", bytes);
    to.shows("seconds", oldest);
  }
};

}  // namespace

void ShownLag::members(jobs::SpecMembers& to) const {
  std::optional<LagOfReader> lag;
  if (place) {
    const auto age = place->oldest ? std::max(now - *place->oldest, Duration::zero()) : Duration::zero();
    lag.emplace(place->changes, place->bytes, age);
  }
  to.shows("lag", lag, {.meaning = "changes that it has not dealt with", .detail = "absent without a feed"});
  to.shows("expired", place && place->gone ? std::optional(true) : std::nullopt,
           {.meaning = "changes that it has not dealt with are no longer kept"});
}

void ShownPage::members(jobs::SpecMembers& to) {
  to.describe("changes", {{"type", "array"}, {"items", jobs::reference("Change")}}, {}, true);
  to.shows("next", std::string(), {.meaning = "token of the place after the last change"});
  to.shows("more", false, {.meaning = "there are more changes already"});
}

std::string page_members(std::string_view table, const FeedPage& page) {
  std::string out = R"("changes":[)";
  each_change(table, page, [&out](const Change& change, const std::string& token) {
    if (out.back() != '[') out += ',';
    feeds::append_change(out, change, token);
  });
  out += R"(],"next":")" + feeds::token_of(table, page.next) + R"(","more":)";
  return out + (page.more ? "true" : "false");
}

}  // namespace tidemark::api
