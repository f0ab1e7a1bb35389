// `tidemark table past`: a table as it was at a moment, from its present state and the changes that its feed keeps.
#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "api/cli/api_client.h"
#include "api/cli/commands.h"
#include "api/cli/table_http.h"
#include "common/base/time.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

/// Prints each entity that existed. An entity that is written meanwhile may be printed twice, with the same values.
class Past {
 public:
  Past(ApiClient api, TableHttp tables, std::string table, Time at)
      : api_(std::move(api)), tables_(std::move(tables)), table_(std::move(table)), at_(at) {}

  /// Returns how many entities were printed.
  Result<std::size_t> print() {
    TRY(check_feed());
    TRY(print_changed());
    // Entities that were not written since that moment are unchanged.
    const auto unchanged = "Timestamp le datetime'" + to_iso8601_7digits(at_) + "'";
    TRY(tables_.query({table_, unchanged, {}, true}, [this](const json& entity) {
      print_entity(entity);
      return true;
    }));
    // Then print the entities that were written before the query reached them.
    TRY(print_changed());
    return printed_;
  }

 private:
  Result<void> check_feed() {
    const auto feed = TRY(api_.call("GET", item_path("tables", table_, "/feed")));
    const auto values = feed.value("values", "");
    if (values != "old" && values != "both") {
      return fail(ErrorCode::kInvalidInput, "The feed of " + table_ +
                                                " keeps no old values. From now on it does after: tidemark feed put " +
                                                table_ + " --values both");
    }
    const auto from = feed.value("completeSince", "");
    const auto begun = parse_iso8601(from);
    if (!begun || *begun > at_) {
      return fail(ErrorCode::kInvalidInput,
                  "The feed of " + table_ + " goes back to " + from + " only. What was before may be in a backup.");
    }
    return {};
  }

  /// Prints the entities that changes from place_ on have altered. The first change after the moment holds the old
  /// values.
  Result<void> print_changed() {
    for (bool more = true; more;) {
      const auto query = query_of({{"after", place_}, {"old", "true"}, {"limit", "1000"}});
      const auto page = TRY(api_.call("GET", item_path("tables", table_, "/changes") + query));
      for (const auto& change : page.value("changes", json::array())) TRY(print_before(change));
      place_ = page.value("next", "");
      more = page.value("more", false);
    }
    return {};
  }

  Result<void> print_before(const json& change) {
    const auto version = parse_iso8601(change.value("version", ""));
    if (!version || *version <= at_) return {};
    const auto kind = change.value("kind", "");
    if (kind == "drop") {
      return fail(ErrorCode::kInvalidInput, "The table was dropped at " + change.value("version", "") +
                                                ". What it had in it before may be in a backup.");
    }
    if (kind == "create") return {};
    const bool first = changed_.emplace(change.value("partitionKey", ""), change.value("rowKey", "")).second;
    if (!first || kind == "insert") return {};
    if (!change.contains("old")) {
      return fail(ErrorCode::kInvalidInput, "The feed of " + table_ + " kept no old values yet at " +
                                                change.value("version", "") + ". What was before may be in a backup.");
    }
    print_entity(change["old"]);
    return {};
  }

  void print_entity(const json& entity) {
    std::cout << entity.dump() << "\n";
    ++printed_;
  }

  ApiClient api_;
  TableHttp tables_;
  std::string table_;
  Time at_;
  std::string place_ = "oldest";
  std::set<std::pair<std::string, std::string>> changed_;
  std::size_t printed_ = 0;
};

Result<int> print_past(const GlobalOptions& options, const std::string& table, const std::string& at) {
  const auto moment = parse_iso8601(at);
  if (!moment) return fail(ErrorCode::kInvalidInput, "--at is no time: " + at);
  Past past(TRY(ApiClient::create(options)), TRY(TableHttp::create(options)), table, *moment);
  const auto count = TRY(past.print());
  std::cerr << counted(count, "entity") << "\n";
  return kOk;
}

}  // namespace

void add_table_past(const Commands& tables) {
  struct Arguments {
    std::string table, at;
  };
  auto a = std::make_shared<Arguments>();
  auto& past =
      tables.add("past",
                 "print the entities as they were at a moment, one a line, as import takes them; the table needs "
                 "a feed with old values that goes back that far",
                 [a](const GlobalOptions& options) { return print_past(options, a->table, a->at); });
  past.add_option("table", a->table, "the table")->required();
  accept_local_time(*past.add_option("--at", a->at, "the moment")->required());
}

}  // namespace tidemark::cli
