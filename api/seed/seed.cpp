#include "api/seed/seed.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "blob_store/model/names.h"
#include "common/base/json.h"
#include "feeds/tokens/start_token.h"
#include "indexes/store/declare.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_rules.h"
#include "table_store/model/limits.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

std::unexpected<Error> wrong(const std::string& where, const std::string& what) {
  return fail(ErrorCode::kConfigInvalid, where + ": " + what);
}

std::unexpected<Error> wrong(const std::string& where, const Error& error) { return wrong(where, error.message); }

/// Checks a name before anything from the file is created.
Result<void> check_name(const std::string& where, Result<void> (*check)(std::string_view name)) {
  const auto fit = check(std::string_view(where).substr(where.find('.') + 1));
  if (!fit) return wrong(where, fit.error());
  return {};
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

Result<std::vector<Seed::Row>> read_rows(const std::string& where, const json& list) {
  TRY(check_name(where, &table_store::check_table_name));
  if (!list.is_array()) return wrong(where, "must be a list of entities");
  std::vector<Seed::Row> rows;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto place = where + "[" + std::to_string(i) + "]";
    auto entity = table_store::parse_entity_json(text_of(list[i]));
    if (!entity) return wrong(place, entity.error());
    if (!entity->partition_key || !entity->row_key) return wrong(place, "PartitionKey and RowKey are needed");
    Seed::Row row;
    row.partition_key = std::move(*entity->partition_key);
    row.insert.row_key = std::move(*entity->row_key);
    row.insert.properties = std::move(entity->properties);
    row.insert.lenient = true;  // an entity that exists stays
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::vector<std::string>> read_messages(const std::string& where, const json& list) {
  TRY(check_name(where, &queue_service::check_queue_name));
  const auto is_text = [](const json& each) { return each.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_text)) return wrong(where, "must be a list of texts");
  auto messages = list.get<std::vector<std::string>>();
  for (const auto& text : messages) {
    if (const auto fit = queue_service::check_text(text); !fit) return wrong(where, fit.error());
  }
  return messages;
}

Result<std::map<std::string, std::string>> read_blobs(const std::string& where, const json& members) {
  TRY(check_name(where, &blob_store::check_container_name));
  const auto is_text = [](const json& each) { return each.is_string(); };
  if (!members.is_object() || !std::ranges::all_of(members, is_text)) {
    return wrong(where, "must be an object of texts by the names of blobs");
  }
  return members.get<std::map<std::string, std::string>>();
}

Result<table_store::ChangeFeed> read_feed(const std::string& where, const json& given) {
  auto feed = feeds::parse_feed(text_of(given));
  if (!feed) return wrong(where, feed.error());
  return *feed;
}

/// The things of one table, by their names.
template <class Thing>
Result<std::map<std::string, Thing>> read_of_table(const std::string& where, const json& given,
                                                   bool (*is_name)(std::string_view),
                                                   Result<Thing> (*read)(const json& given)) {
  if (!given.is_object()) return wrong(where, "must be an object, with a member for each name");
  std::map<std::string, Thing> out;
  for (const auto& [name, one] : given.items()) {
    const auto place = where + "." + name;
    if (!is_name(name)) {
      return wrong(place, "a name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first");
    }
    auto thing = read(one);
    if (!thing) return wrong(place, thing.error());
    out.emplace(name, std::move(*thing));
  }
  return out;
}

Result<std::string> read_consumer(const json& given) {
  if (!given.is_object()) return fail(ErrorCode::kConfigInvalid, "must be an object, such as {\"after\": \"oldest\"}");
  jobs::SpecMembers in(given);
  std::string after = "now";
  in.text("after", after);
  in.refuse_unknown();
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kConfigInvalid, "", in.problems());
  if (after != "now" && after != "oldest") return fail(ErrorCode::kConfigInvalid, "after: is now or oldest");
  return after;
}

Result<feeds::OnChangeRequest> read_on_change(const json& given) { return feeds::parse_on_change(text_of(given)); }

Result<std::map<std::string, std::string>> read_consumers(const std::string& where, const json& given) {
  return read_of_table(where, given, &feeds::is_group_name, &read_consumer);
}

Result<std::map<std::string, feeds::OnChangeRequest>> read_on_changes(const std::string& where, const json& given) {
  return read_of_table(where, given, &feeds::is_on_change_name, &read_on_change);
}

Result<indexes::Definition> read_index(const std::string& where, const json& given) {
  if (!indexes::is_index_name(where.substr(where.find('.') + 1))) {
    return wrong(where, "an index's name has 1 to 63 letters, digits and '-', a letter first");
  }
  auto definition = indexes::parse_definition(given);
  if (!definition) return wrong(where, definition.error());
  return std::move(*definition);
}

/// Reads one member of the file, which has a thing for each name.
template <class Thing>
Result<void> read_all(const json& whole, const char* member, std::map<std::string, Thing>& out,
                      Result<Thing> (*read)(const std::string& where, const json& given)) {
  const auto found = whole.find(member);
  if (found == whole.end()) return {};
  if (!found->is_object()) return wrong(member, "must be an object, with a member for each name");
  for (const auto& [name, given] : found->items()) {
    out.emplace(name, TRY(read(std::string(member) + "." + name, given)));
  }
  return {};
}

/// Adds the name of the thing that could not be created.
template <class Value>
Result<Value> made(const std::string& what, Result<Value> outcome) {
  if (!outcome) return wrong(what, outcome.error());
  return outcome;
}

class Sowing {
 public:
  Sowing(SeedStores stores, Seed seed) : stores_(stores), seed_(std::move(seed)) {}

  Task<Result<Seeded>> run() {
    for (auto& [name, rows] : seed_.tables) CO_TRY(co_await table(name, rows));
    for (auto& [name, messages] : seed_.queues) CO_TRY(co_await queue(name, messages));
    for (auto& [name, blobs] : seed_.containers) CO_TRY(co_await container(name, blobs));
    for (const auto& [name, feed] : seed_.feeds) CO_TRY(co_await follow(name, feed));
    for (const auto& [table, groups] : seed_.consumers) {
      for (const auto& [group, after] : groups) CO_TRY(co_await consumer(table, group, after));
    }
    for (const auto& [table, declared] : seed_.on_changes) {
      for (const auto& [name, request] : declared) CO_TRY(co_await on_change(table, name, request));
    }
    for (auto& [name, definition] : seed_.indexes) CO_TRY(co_await index(name, std::move(definition)));
    co_return done_;
  }

 private:
  Task<Result<void>> table(std::string name, std::vector<Seed::Row>& rows) {
    const auto where = "tables." + name;
    auto created = co_await stores_.tables.create_table(name);
    if (created) ++done_.tables;
    const bool there = created.failed_with(ErrorCode::kTableAlreadyExists);
    if (!created && !there) co_return wrong(where, created.error());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto& row = rows[i];
      auto outcome = co_await stores_.tables.mutate(name, row.partition_key, {std::move(row.insert)}, std::nullopt);
      if (!outcome) co_return wrong(where + "[" + std::to_string(i) + "]", outcome.error());
      done_.entities += outcome->front().kind == WriteOutcome::kApplied ? 1 : 0;
    }
    co_return Result<void>();
  }

  Task<Result<void>> queue(std::string name, std::vector<std::string>& messages) {
    const auto where = "queues." + name;
    const auto there = CO_TRY(made(where, co_await stores_.queues.list_queues(name)));
    if (std::ranges::find(there, name) != there.end()) co_return Result<void>();
    CO_TRY(made(where, co_await stores_.queues.ensure_queue(name)));
    ++done_.queues;
    for (auto& text : messages) {
      CO_TRY(made(where, co_await stores_.queues.put(name, std::move(text), Duration::zero())));
      ++done_.messages;
    }
    co_return Result<void>();
  }

  Task<Result<void>> container(std::string name, std::map<std::string, std::string>& blobs) {
    const auto where = "containers." + name;
    CO_TRY(made(where, co_await stores_.blobs.ensure_container(name)));
    ++done_.containers;
    // An existing blob is newer than this version, and stays.
    const blob_store::FencedWrite write{.fence = {"seed", 1, {}}, .source_version = 1};
    for (auto& [blob, text] : blobs) {
      if (text.size() > blob_store::kMaxPieceBytes) co_return wrong(where + "." + blob, "the text is too long");
      blob_store::NewContent content;
      content.headers.type = "text/plain; charset=utf-8";
      const auto put = CO_TRY(
          made(where + "." + blob, co_await stores_.blobs.put(name, blob, std::move(content), std::move(text), write)));
      done_.blobs += put == WriteOutcome::kApplied ? 1 : 0;
    }
    co_return Result<void>();
  }

  Task<Result<void>> follow(std::string table, table_store::ChangeFeed feed) {
    const auto where = "feeds." + table;
    const auto there = co_await stores_.tables.feed(table, {});
    if (there) co_return Result<void>();
    if (http_status_of(there.error().code) != 404) co_return wrong(where, there.error());
    CO_TRY(made(where, co_await stores_.tables.put_feed(table, feed)));
    ++done_.feeds;
    co_return Result<void>();
  }

  Task<Result<void>> consumer(std::string table, std::string group, std::string after) {
    const auto where = "consumers." + table + "." + group;
    auto token = CO_TRY(made(where, co_await feeds::token_for(stores_.tables, table, after)));
    const auto stored =
        CO_TRY(made(where, co_await stores_.consumers.put(table, group, std::move(token), /*reset=*/false)));
    done_.consumers += stored.created ? 1 : 0;
    co_return Result<void>();
  }

  Task<Result<void>> on_change(std::string table, std::string name, feeds::OnChangeRequest request) {
    const auto where = "onChange." + table + "." + name;
    const auto there = co_await stores_.on_changes.get(table, name);
    if (there) co_return Result<void>();
    if (!there.failed_with(ErrorCode::kOnChangeNotFound)) co_return wrong(where, there.error());
    const auto status = CO_TRY(made(where, co_await stores_.tables.feed(table, {})));
    CO_TRY(made(where, feeds::check_on_change(request.definition, status.feed, stores_.callbacks)));
    auto token = CO_TRY(made(where, co_await feeds::token_for(stores_.tables, table, request.after)));
    const auto& queue = request.definition.queue;
    if (!queue.empty()) CO_TRY(made(where, co_await stores_.queues.ensure_queue(queue)));
    CO_TRY(made(where, co_await stores_.on_changes.put(table, name, std::move(request.definition), std::move(token))));
    ++done_.on_changes;
    co_return Result<void>();
  }

  Task<Result<void>> index(std::string name, indexes::Definition definition) {
    const auto where = "indexes." + name;
    if (CO_TRY(made(where, co_await stores_.indexes.find(name)))) co_return Result<void>();
    CO_TRY(made(where, co_await indexes::declare(stores_.tables, &stores_.blobs, stores_.indexes, name,
                                                 std::move(definition))));
    ++done_.indexes;
    co_return Result<void>();
  }

  SeedStores stores_;
  Seed seed_;
  Seeded done_;
};

}  // namespace

Result<Seed> parse_seed(std::string_view text) {
  const auto whole = read_json(text);
  if (!whole) return fail(ErrorCode::kConfigInvalid, whole.error().message);
  if (!whole->is_object()) return fail(ErrorCode::kConfigInvalid, "it must be a JSON object");
  constexpr std::string_view kMembers[] = {"tables",    "queues",   "containers", "feeds",
                                           "consumers", "onChange", "indexes"};
  for (const auto& [name, given] : whole->items()) {
    if (std::ranges::find(kMembers, name) == std::end(kMembers)) {
      return wrong(name, "is not one of tables, queues, containers, feeds, consumers, onChange and indexes");
    }
  }
  Seed seed;
  TRY(read_all(*whole, "tables", seed.tables, &read_rows));
  TRY(read_all(*whole, "queues", seed.queues, &read_messages));
  TRY(read_all(*whole, "containers", seed.containers, &read_blobs));
  TRY(read_all(*whole, "feeds", seed.feeds, &read_feed));
  TRY(read_all(*whole, "consumers", seed.consumers, &read_consumers));
  TRY(read_all(*whole, "onChange", seed.on_changes, &read_on_changes));
  TRY(read_all(*whole, "indexes", seed.indexes, &read_index));
  return seed;
}

Result<Seed> read_seed(const std::string& path) {
  const auto about = "seed_file: " + path;
  std::ifstream in(path, std::ios::binary);
  if (!in) return wrong(about, std::error_code(errno, std::generic_category()).message());
  std::string text(kMaxSeedBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return wrong(about, "the file cannot be read");
  if (text.size() > kMaxSeedBytes) return wrong(about, "it is longer than 16 MiB");
  auto seed = parse_seed(text);
  if (!seed) return wrong(about, seed.error());
  return seed;
}

Task<Result<Seeded>> sow(SeedStores stores, Seed seed) {
  Sowing sowing(stores, std::move(seed));
  co_return co_await sowing.run();
}

}  // namespace tidemark::api
