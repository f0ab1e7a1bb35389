#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "api/cli/commands.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "api/cli/paged_list.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string amount(double seconds) {
  return seconds < 10 ? std::to_string(static_cast<int>(seconds * 1000)) + " ms" : readable_duration(seconds);
}

std::string state_of(const json& index) {
  auto state = cell(index, "state");
  const auto walk = index.value("walk", json::object());
  const auto walked = walk.value("walked", 0ULL), total = walk.value("total", 0ULL);
  if (total > 0 && state != "ready") state += " " + std::to_string(std::min(100ULL, walked * 100 / total)) + "%";
  return index.value("paused", false) ? state + ", paused" : state;
}

/// A table, or a container and the prefix of the names in it.
std::string destination_of(const json& definition) {
  if (!definition.contains("container")) return definition.value("destination", "");
  return definition.value("container", "") + "/" + definition.value("prefix", "");
}

std::string lag_of(const json& lag) { return lag.contains("seconds") ? amount(lag.value("seconds", 0.0)) : ""; }

Print index_table() {
  return table_of({{"index", "/name"},
                   {"state", "", state_of},
                   {"kind", "/definition/kind"},
                   {"source", "/definition/source"},
                   {"destination", "/definition", destination_of},
                   {">lag", "/lag", lag_of},
                   {">waiting", "/lag/changes"},
                   {"proven", "/lastScrub/proven", time_of},
                   {">wrong", "/lastScrub/wrong"}});
}

void print_walk(const json& walk) {
  std::cout << "walked: " << cell(walk, "walked");
  if (walk.contains("total")) std::cout << " of about " << cell(walk, "total");
  if (walk.contains("perSecond")) std::cout << ", " << static_cast<std::uint64_t>(walk.value("perSecond", 0.0)) << "/s";
  if (walk.contains("secondsLeft")) std::cout << ", " << readable_duration(walk.value("secondsLeft", 0.0)) << " left";
  std::cout << "\n";
}

void print_index(const json& index) {
  index_table()(index);
  if (index.contains("walk")) print_walk(index["walk"]);
  if (index.contains("position")) std::cout << "position: " << cell(index, "position") << "\n";
  if (index.contains("lastScrub")) {
    const auto& scrub = index["lastScrub"];
    std::cout << "last scrub: " << time_cell(scrub, "at") << ", " << cell(scrub, "checked") << " checked, "
              << cell(scrub, "wrong") << " wrong and mended\n";
  }
  if (index.contains("inTheWay")) {
    std::cout << "in the way: " << taken_keys(index["inTheWay"]) << "\n";
  }
  if (index.contains("lastError")) {
    const auto& error = index["lastError"];
    std::cout << "last error: " << time_cell(error, "at") << "  " << cell(error, "message") << "\n";
  }
  if (index.contains("owner")) {
    std::cout << "owner: " << cell(index["owner"], "worker");
    if (index["owner"].contains("seenSecondsAgo")) {
      std::cout << ", seen " << amount(index["owner"].value("seenSecondsAgo", 0.0)) << " ago";
    }
    std::cout << "\n";
  }
  std::cout << "definition: " << index.value("definition", json()).dump() << "\n";
}

/// Waits until the index is ready and no requested scrub is left; prints its state on standard error whenever it
/// changes.
Result<json> await_ready(const GlobalOptions& options, ApiClient& api, const std::string& name, json index) {
  std::string shown;
  while (index.value("state", "") != "ready" || index.contains("scrubAsked")) {
    if (index.value("paused", false)) return fail(ErrorCode::kInvalidInput, "index " + name + " is paused");
    if (index.value("state", "") == "dropping")
      return fail(ErrorCode::kNotFound, "index " + name + " is being dropped");
    auto state = index.contains("scrubAsked") && index.value("state", "") == "ready" ? "scrubbing" : state_of(index);
    if (!options.json && state != shown) std::cerr << (shown = std::move(state)) << "\n";
    std::this_thread::sleep_for(kLookEvery);
    index = TRY(api.call("GET", item_path("indexes", name)));
  }
  return index;
}

Result<int> ask_of_index(const GlobalOptions& options, const std::string& method, const std::string& name,
                         const std::string& ending, const std::string& body, bool wait) {
  auto api = TRY(ApiClient::create(options));
  auto index = TRY(api.call(method, item_path("indexes", name, ending), body));
  if (wait) index = TRY(await_ready(options, api, name, std::move(index)));
  print_answer(options, index, print_index);
  return kOk;
}

struct IndexArguments {
  std::string name, file, on_violation;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::string> by, properties;
  bool unique = false, answers_queries = false, wait = false;
};

Result<std::string> index_definition(const IndexArguments& a) {
  if (!a.file.empty()) return read_file(a.file);
  auto out = json::object();
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) out[name] = text;
  }
  for (const auto& [name, number] : a.numbers) {
    if (number >= 0) out[name] = number;
  }
  if (!a.by.empty()) out["by"] = a.by;
  const bool renames = std::ranges::any_of(a.properties, [](const auto& name) { return name.contains('='); });
  if (!a.properties.empty() && !renames) out["properties"] = a.properties;
  for (const auto& name : a.properties) {
    if (renames) out["properties"][name.substr(0, name.find('='))] = name.substr(name.find('=') + 1);
  }
  if (a.unique) out["unique"] = true;
  if (a.answers_queries) out["answersQueries"] = true;
  if (!a.on_violation.empty()) out["onViolation"]["url"] = a.on_violation;
  return out.dump();
}

void add_put_index(const Commands& indexes) {
  auto a = std::make_shared<IndexArguments>();
  auto& putting = indexes.add("put", "declare an index, which from then on follows every write to its table",
                              [a](const GlobalOptions& options) -> Result<int> {
                                return ask_of_index(options, "PUT", a->name, "", TRY(index_definition(*a)), a->wait);
                              });
  putting.add_option("name", a->name, "the index's name")->required();
  putting.add_option("--file", a->file, "the whole definition as JSON from a file, - for standard input");
  const auto text = [&](const char* option, const char* member, const char* meaning) {
    return putting.add_option(option, a->texts[member], meaning);
  };
  text("--kind", "kind", "what its rows are")->check(CLI::IsMember({"copies", "lists", "summary", "denormalised"}));
  text("--source", "source", "the table that it is an index of; of denormalised: that the values are taken from");
  text("--destination", "destination",
       "the table that its rows are in; of denormalised: whose entities get the values");
  text("--filter", "filter", "OData; other entities have no rows in the index");
  text("--partition-key", "partitionKey",
       "of copies: a template, such as {Department}; of denormalised: of the entity that is referred to");
  text("--row-key", "rowKey", "of copies: a template, such as mail_{Email}; of denormalised: likewise");
  putting
      .add_option("--property-list", a->properties,
                  "of copies: these properties; all if absent; of denormalised: such as ManagerName=Name")
      ->delimiter(',');
  text("--missing", "missing", "of denormalised: what refers to nothing has no values, or empty ones")
      ->check(CLI::IsMember({"remove", "empty"}));
  putting.add_option("--by", a->by, "of lists and summary: the properties that entities are grouped by")
      ->delimiter(',');
  text("--where", "where", "of lists: a partition for each value, the entities' own partitions, or blobs")
      ->check(CLI::IsMember({"across", "partition", "blobs"}));
  text("--container", "container", "of lists in blobs: where they are; made if it is missing");
  text("--prefix", "prefix", "of lists in blobs: what their names begin with, such as by-name/");
  putting.add_flag("--answers-queries", a->answers_queries,
                   "of lists in tables: let table queries whose filter gives these properties with eq use this index");
  putting.add_flag("--unique", a->unique, "of lists: report values that several entities have");
  putting.add_option("--on-violation", a->on_violation, "of unique lists: a URL that is told of each new violation");
  text("--of", "of", "of summary: the property that is summed; entities are only counted if absent");
  text("--beyond", "beyond", "if too much waits for it: stale, or refuse writes to the table")
      ->check(CLI::IsMember({"stale", "refuse"}));
  const auto number = [&](const char* option, const char* member, const char* meaning) {
    auto& value = a->numbers[member] = -1;
    putting.add_option(option, value, meaning)->check(positive_number());
  };
  number("--max-changes", "maxChanges", "how many changes may wait for it");
  number("--max-bytes", "maxBytes", "how many bytes of changes may wait for it");
  number("--build-per-second", "buildPerSecond", "entities, while it is built; as fast as it goes if absent");
  number("--scrub-per-second", "scrubPerSecond", "rows and entities, while it is compared");
  putting.add_flag("--wait", a->wait, "wait until it is ready");
  putting.footer(
      "Such as\n"
      "  tidemark index put by-maintainer --kind lists --source Packages --by Maintainer --destination ByMaintainer\n" +
      putting.get_footer());
}

void add_waiting(const Commands& indexes, const char* name, const char* meaning, const char* ending) {
  auto given = std::make_shared<std::string>();
  auto wait = std::make_shared<bool>(false);
  auto& command = indexes.add(name, meaning, [given, wait, ending](const GlobalOptions& options) {
    return ask_of_index(options, "POST", *given, ending, "", *wait);
  });
  command.add_option("name", *given, "the index's name")->required();
  command.add_flag("--wait", *wait, "wait until it is done");
}

struct LookupArguments {
  std::string name;
  std::vector<std::string> values, types, properties;
  std::map<std::string, std::string> texts;
  std::string continuation;
  std::size_t top = 100;
};

Result<std::string> lookup_query(const LookupArguments& a) {
  std::string query;
  const auto add = [&](const std::string& name, const std::string& value) {
    query += (query.empty() ? "?" : "&") + percent_encode(name) + "=" + percent_encode(value);
  };
  for (const auto& value : a.values) add("value", value);
  for (const auto& type : a.types) add("type", type);
  for (const auto& property : a.properties) {
    const auto equals = property.find('=');
    if (equals == std::string::npos) return fail(ErrorCode::kInvalidInput, "--property must be NAME=VALUE");
    add(property.substr(0, equals), property.substr(equals + 1));
  }
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) add(name, text);
  }
  return query;
}

Result<int> look_up(const GlobalOptions& options, const LookupArguments& a) {
  auto api = TRY(ApiClient::create(options));
  const auto path = item_path("indexes", a.name, "/lookup") + TRY(lookup_query(a));
  const auto with = path + (path.find('?') == std::string::npos ? "?" : "&");
  json all;
  std::size_t found = 0;
  auto continuation = a.continuation;
  do {
    auto target = with + "top=" + std::to_string(a.top == 0 ? 1000 : std::min<std::size_t>(1000, a.top - found));
    if (!continuation.empty()) target += "&continuation=" + percent_encode(continuation);
    auto page = TRY(api.call("GET", target));
    continuation = page.value("continuation", "");
    const auto* list = page.contains("groups") ? "groups" : page.contains("keys") ? "keys" : "entities";
    found += page[list].size();
    if (all.is_null()) {
      all = std::move(page);
      continue;
    }
    for (auto& item : page[list]) all[list].push_back(std::move(item));
    all["leftOut"] = all.value("leftOut", 0ULL) + page.value("leftOut", 0ULL);
    all["continuation"] = continuation;
  } while (!continuation.empty() && (a.top == 0 || found < a.top));
  if (continuation.empty()) all.erase("continuation");
  print_answer(options, all, [](const json& answer) {
    for (const auto& key : answer.value("keys", json::array())) std::cout << key.dump() << "\n";
    for (const auto* list : {"groups", "entities"}) {
      for (const auto& item : answer.value(list, json::array())) std::cout << item.dump(2) << "\n";
    }
    std::cerr << "index " << state_of(answer);
    if (answer.contains("lag")) std::cerr << ", behind: " << lag_of(answer["lag"]);
    std::cerr << "\n";
  });
  if (!continuation.empty() && !options.json) std::cerr << more_than_shown(found, continuation) << "\n";
  return kOk;
}

void add_lookup(const Commands& indexes) {
  auto a = std::make_shared<LookupArguments>();
  auto& looking = indexes.add("lookup", "find entities by an index",
                              [a](const GlobalOptions& options) { return look_up(options, *a); });
  looking.add_option("name", a->name, "the index's name")->required();
  looking.add_option("--value", a->values, "of lists and summary: a value for each property, in order")
      ->allow_extra_args(false);
  looking.add_option("--type", a->types, "the type of each value, if its text leaves a choice: Int32, Boolean, ...")
      ->allow_extra_args(false);
  looking.add_option("--property", a->properties, "of copies: NAME=VALUE for each property of the key templates")
      ->allow_extra_args(false);
  const auto text = [&](const char* option, const char* name, const char* meaning) {
    return looking.add_option(option, a->texts[name], meaning);
  };
  text("--prefix", "prefix", "what the next property's value begins with");
  text("--from", "from", "the next property's values from this one on");
  text("--to", "to", "the next property's values up to this one");
  text("--partition", "partition", "of lists in a partition: which");
  text("--select", "select", "entities, keys, or properties separated by commas");
  text("--min-version", "minVersion", "wait until it has this version: a Timestamp or an ETag");
  text("--max-lag", "maxLag", "wait until it is at most so many seconds behind");
  text("--wait-ms", "wait", "how long to wait, in milliseconds");
  looking.add_option("--top", a->top, "at most this many; 0 for all")->check(whole_number())->capture_default_str();
  looking.add_flag_callback("--all", [a] { a->top = 0; }, "all, however many there are")->excludes("--top");
  looking.add_option("--continuation", a->continuation, "go on where an earlier answer ended, which said this");
}

void add_violations(const Commands& indexes) {
  auto name = std::make_shared<std::string>();
  auto& listing = indexes.add(
      "violations", "values of a unique index that several entities have", [name](const GlobalOptions& options) {
        return list_and_print(options, item_path("indexes", *name, "/violations"), "violations", kWhole,
                              table_of({{"value", "/group"}, {">entities", "/count"}, {"such as", "/examples"}}));
      });
  listing.add_option("name", *name, "the index's name")->required();
}

}  // namespace

void add_index_commands(const Commands& program) {
  const auto indexes = program.family("index", "indexes that follow every write to a table");
  add_put_index(indexes);
  indexes.add("list", "all indexes and how far they are", [](const GlobalOptions& options) {
    return call_and_print(options, "GET", "/v1/indexes", member_of("indexes", index_table()));
  });
  add_lookup(indexes);
  add_waiting(indexes, "rebuild", "walk over the table again as at the first time, and verify", "/rebuild");
  add_waiting(indexes, "scrub", "compare rows and entities both ways at once, and mend what is wrong", "/scrub");
  add_violations(indexes);
  indexes.add_for_one("indexes", "name", "the index's name",
                      {{"show", "an index and how far it is", "GET", "", print_index},
                       {"pause", "let its rows stay as they are; changes wait for it", "POST", "/pause", print_index},
                       {"resume", "deal with the changes again", "POST", "/resume", print_index},
                       {"drop", "remove it and its rows; the table stays", "DELETE", "", print_index}});
}

}  // namespace tidemark::cli
