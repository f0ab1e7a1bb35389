// Indexes: the declarations and requests of persons, and the progress of each index.
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "common/base/json.h"
#include "common/base/query.h"
#include "indexes/lookup/lookup.h"
#include "indexes/store/declare.h"
#include "jobs/spec/spec_members.h"
#include "table_store/odata/entity_text.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::api {
namespace {

using indexes::Index;
using indexes::Progress;
using indexes::Status;
using nlohmann::json;

/// A version is the time at which it was assigned.
Time time_of(table_store::Version version) { return Time(Ticks(version)); }

constexpr std::array kIndexStates{indexes::kBuilding, indexes::kVerifying, indexes::kReady, indexes::kStale,
                                  indexes::kDropping};
constexpr jobs::About kAboutIndexState{.one_of = kIndexStates};

struct Walk {
  std::uint64_t walked = 0;
  std::optional<std::uint64_t> total;
  std::optional<double> per_second, seconds_left;
  void members(jobs::SpecMembers& to) const {
    to.shows("walked", walked);
    to.shows("total", total);
    to.shows("perSecond", per_second);
    to.shows("secondsLeft", seconds_left);
  }
};

struct LastScrub {
  Time at{};
  std::uint64_t checked = 0, wrong = 0;
  Time proven{};
  void members(jobs::SpecMembers& to) const {
    to.shows("at", at);
    to.shows("checked", checked);
    to.shows("wrong", wrong);
    to.shows("proven", proven, {.meaning = "version up to which the index is proved to be right"});
  }
};

struct InTheWay {
  std::uint64_t rows = 0;
  json examples;  // null, or a list
  void members(jobs::SpecMembers& to) const {
    to.shows("rows", rows);
    to.shows_json("examples", {{"type", "array"}}, examples);
  }
};

struct IndexError {
  std::string message;
  Time at{};
  std::uint64_t in_a_row = 0;
  void members(jobs::SpecMembers& to) const {
    to.shows("message", message);
    to.shows("at", at);
    to.shows("inARow", in_a_row, {.meaning = "0: there has been no error since"});
  }
};

struct ShownOwner {
  std::string worker;
  std::uint64_t epoch = 0;
  std::optional<Duration> seen_ago;
  void members(jobs::SpecMembers& to) const {
    to.shows("worker", worker);
    to.shows("epoch", epoch);
    to.shows("seenSecondsAgo", seen_ago);
  }
};

struct IndexLag {
  std::uint64_t changes = 0, bytes = 0;
  std::optional<Duration> oldest;
  void members(jobs::SpecMembers& to) const {
    to.shows("changes", changes);
    to.shows("bytes", bytes);
    to.shows("seconds", oldest,
             {.meaning = "age of the oldest change that is not in the rows",
              .detail = "absent if the log has given up on the index"});
  }
};

/// State, position and lag, which are also members of the answer to a lookup.
struct Freshness {
  const Status& status;
  Time now;
  void members(jobs::SpecMembers& to) const {
    to.shows("name", status.index.name);
    to.shows("state", std::string(status.state()), kAboutIndexState);
    to.shows("paused", status.index.paused);
    const auto position = status.position();
    to.shows("position", position != 0 ? std::optional(time_of(position)) : std::nullopt,
             {.meaning = "all changes up to this version are in the rows; a version is a Timestamp"});
    std::optional<IndexLag> lag;
    if (status.follower) lag.emplace(status.follower->changes_behind, status.follower->bytes_behind, status.lag(now));
    to.shows("lag", lag,
             {.meaning = "changes in the table's log that are not in the rows",
              .detail = "absent until a worker has begun"});
  }
};

Walk walk_of(const Status& status) {
  const auto& progress = status.progress;
  Walk out;
  out.walked = progress.walked;
  if (progress.total > 0) out.total = progress.total;
  const auto took = seconds(time_of(progress.version) - progress.walk_began);
  if (took <= 0 || progress.walked == 0) return out;
  const auto rate = static_cast<double>(progress.walked) / took;
  out.per_second = rate;
  if (status.state() == indexes::kBuilding && progress.total > progress.walked) {
    out.seconds_left = static_cast<double>(progress.total - progress.walked) / rate;
  }
  return out;
}

struct ShownIndex {
  Status status;
  Time now{};
  static constexpr const char* kSchema = "Index";
  void members(jobs::SpecMembers& to) const {
    Freshness{status, now}.members(to);
    to.shows_json("definition", jobs::reference("IndexDefinition"),
                  to.writes() ? indexes::to_json(status.index.definition) : json(), {}, true);
    to.shows("createdAt", status.index.created_at);
    show_progress(to);
    std::optional<ShownOwner> owner;
    const auto ago = [this](Time seen) { return std::max(now - seen, Duration::zero()); };
    if (!status.owner.worker.empty()) {
      owner.emplace(status.owner.worker, status.owner.epoch, status.owner_seen.transform(ago));
    }
    to.shows("owner", owner);
  }

 private:
  /// Shows the facts that the owner has written.
  void show_progress(jobs::SpecMembers& to) const {
    const auto& progress = status.progress;
    const bool known = progress.version != 0;
    const auto if_known = [known](auto value) { return known ? std::optional(std::move(value)) : std::nullopt; };
    const bool scrub_asked = known && progress.scrubs < status.index.scrubs_asked;
    const bool walks = known && (status.state() != indexes::kReady || scrub_asked);
    to.shows("figuresAgeSeconds", if_known(std::max(now - time_of(progress.version), Duration::zero())),
             {.meaning = "time since the owner wrote these figures"});
    const bool built = known && progress.state != indexes::kBuilding;
    to.shows("built", built ? std::optional(progress.total) : std::nullopt,
             {.meaning = "entities that were read when the index was built last"});
    to.shows("changes", if_known(progress.changes),
             {.meaning = "entities that changed since the index was declared, and were dealt with"});
    to.shows("wrongEver", if_known(progress.wrong_ever), {.meaning = "rows that scrubs have found wrong, and mended"});
    to.shows("walk", walks ? std::optional(walk_of(status)) : std::nullopt,
             {.meaning = "the walk over table or rows that is under way"});
    to.shows("scrubAsked", scrub_asked ? std::optional(true) : std::nullopt);
    std::optional<LastScrub> scrub;
    if (known && progress.proven_at != Time{}) {
      scrub.emplace(progress.proven_at, progress.checked, progress.wrong, time_of(progress.proven));
    }
    to.shows("lastScrub", scrub);
    std::optional<InTheWay> in_the_way;
    if (known && progress.in_the_way > 0) {
      auto examples = json_or_discarded(progress.in_the_way_examples);
      in_the_way.emplace(progress.in_the_way, examples.is_array() ? std::move(examples) : json());
    }
    to.shows("inTheWay", in_the_way, {.meaning = "rows that are not written because rows of others have their keys"});
    std::optional<IndexError> error;
    if (known && !progress.last_error.empty()) {
      error.emplace(progress.last_error, progress.last_error_at, progress.errors);
    }
    to.shows("lastError", error);
  }
};

json index_json(const Status& status, Time now) { return json_of(ShownIndex{status, now}); }

Answer answer_indexes(Api& api, std::vector<Index> found) {
  const auto all = CO_TRY(co_await indexes::status_of_all(api.tables, api.indexes, std::move(found)));
  const auto now = api.clock.now();
  co_return json_response(
      200, {{"indexes", list_json(all, [now](const Status& status) { return index_json(status, now); })}});
}

Answer answer_index(Api& api, unsigned http_status, Index index) {
  const auto all = CO_TRY(co_await indexes::status_of_all(api.tables, api.indexes, {std::move(index)}));
  co_return json_response(http_status, index_json(all.front(), api.clock.now()));
}

Task<Result<Index>> find_index(Api& api, std::string name) {
  auto found = CO_TRY(co_await api.indexes.find(std::move(name)));
  if (!found) co_return fail(ErrorCode::kIndexNotFound);
  co_return std::move(*found);
}

Result<void> admit(const Api& api, const indexes::Definition& definition) {
  const auto* lists = std::get_if<indexes::ListsKind>(&definition.kind);
  if (lists == nullptr || !lists->on_violation) return {};
  const auto url = jobs::parse_callback_url(lists->on_violation->url);
  const auto outcome = url ? api.callbacks.admit(*url) : Result<void>(fail(url.error()));
  if (outcome) return {};
  return jobs::invalid(ErrorCode::kIndexInvalid,
                       "The index is not valid: ", {"onViolation: " + outcome.error().message});
}

Answer put_index(Api& api, http::Request& request, std::string name) {
  if (!indexes::is_index_name(name)) {
    co_return fail(ErrorCode::kInvalidInput, "An index's name has 1 to 63 letters, digits and '-', a letter first.");
  }
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto definition = CO_TRY(indexes::parse_definition(std::string_view(body)));
  CO_TRY(admit(api, definition));
  auto stored = CO_TRY(
      co_await indexes::declare(api.tables, api.objects.blobs, api.indexes, std::move(name), std::move(definition)));
  co_return co_await answer_index(api, stored.created ? 201 : 200, std::move(stored.index));
}

Answer list_indexes(Api& api, http::Request&, std::string) {
  co_return co_await answer_indexes(api, CO_TRY(co_await api.indexes.all()));
}

Answer show_index(Api& api, http::Request&, std::string name) {
  co_return co_await answer_index(api, 200, CO_TRY(co_await find_index(api, std::move(name))));
}

Answer grant(Api& api, unsigned http_status, std::string name, indexes::IndexStore::Wish wish) {
  co_return co_await answer_index(api, http_status, CO_TRY(co_await api.indexes.ask(std::move(name), wish)));
}

Answer pause_index(Api& api, http::Request&, std::string name) {
  return grant(api, 200, std::move(name), {.paused = true});
}
Answer resume_index(Api& api, http::Request&, std::string name) {
  return grant(api, 200, std::move(name), {.paused = false});
}
Answer rebuild_index(Api& api, http::Request&, std::string name) {
  return grant(api, 202, std::move(name), {.rebuild = true});
}
Answer scrub_index(Api& api, http::Request&, std::string name) {
  return grant(api, 202, std::move(name), {.scrub = true});
}
Answer drop_index(Api& api, http::Request&, std::string name) {
  return grant(api, 202, std::move(name), {.drop = true});
}

struct ShownViolation {
  indexes::Violation violation;
  static constexpr const char* kSchema = "Violation";
  void members(jobs::SpecMembers& to) const {
    to.shows("group", violation.group, {.meaning = "the values, as they are in keys"});
    to.shows("count", violation.count);
    const json keys{{"type", "array"}, {"items", {{"type", "string"}}}};
    auto examples = json_or_discarded(violation.examples);
    to.shows_json("examples", {{"type", "array"}, {"items", keys}},
                  examples.is_array() ? std::move(examples) : json::array(),
                  {.meaning = "[PartitionKey, RowKey] of two of the entities"}, true);
  }
};

Answer list_violations(Api& api, http::Request& request, std::string name) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto index = CO_TRY(co_await find_index(api, std::move(name)));
  const auto page = CO_TRY(co_await api.indexes.violations(index.id, limit, parameters.text("continuation")));
  co_return page_response("violations", page.violations, page.continuation,
                          [](const auto& violation) { return json_of(ShownViolation{violation}); });
}

/// Appends an entity in the form of the table endpoint, with its keys and the selected properties.
void append_entity(std::string& out, const indexes::FoundEntity& found, const std::vector<std::string>& selected) {
  table_store::EntityView view;
  view.partition_key = found.partition_key;
  view.row_key = found.row_key;
  view.version = found.version;
  view.block = found.block;
  if (selected.empty()) return table_store::append_list_element(out, {}, view);
  auto entity = view.to_entity();
  std::erase_if(entity.properties,
                [&](const auto& property) { return std::ranges::find(selected, property.name) == selected.end(); });
  table_store::append_entity_text(out, entity);
}

void append_keys(std::string& out, const indexes::FoundEntity& found) {
  out += R"({"partitionKey":)";
  table_store::append_json_string(out, found.partition_key);
  out += R"(,"rowKey":)";
  table_store::append_json_string(out, found.row_key);
  out += '}';
}

/// The answer to a lookup without the entities.
struct LookupHead {
  Freshness freshness;
  std::uint64_t left_out = 0;
  std::string continuation;
  void members(jobs::SpecMembers& to) const {
    freshness.members(to);
    to.shows("leftOut", left_out, {.meaning = "entities in the rows that do not match any more"});
    to.shows_unless_empty("continuation", continuation);
  }
};

struct ShownKeys {
  void members(jobs::SpecMembers& to) const {
    to.shows("partitionKey", std::string());
    to.shows("rowKey", std::string());
  }
};

/// The members of a lookup's answer, which lookup_response() writes.
struct ShownLookup {
  static constexpr const char* kSchema = "Lookup";
  void members(jobs::SpecMembers& to) const {
    LookupHead{{Status{}, Time{}}, 0, {}}.members(to);
    const json entities{{"type", "array"}, {"items", {{"type", "object"}}}};
    to.describe("entities", entities, {.meaning = "entities as the table endpoint writes them"});
    to.shows("keys", std::optional(std::vector<ShownKeys>()));
    to.describe("groups", entities, {.meaning = "rows of a summary, as the table endpoint writes them"});
  }
};

/// Writes the entities as text directly, because they are most of the answer.
http::Response lookup_response(const indexes::LookupAnswer& answer, const indexes::LookupRequest& request, Time now) {
  const auto& found = answer.found;
  const json head = json_of(LookupHead{{answer.status, now}, found.left_out, found.continuation});
  const bool groups = std::holds_alternative<indexes::SummaryKind>(answer.status.index.definition.kind);
  const bool keys_only = request.keys_only && !groups;
  auto response = json_response(200, head);
  auto& body = response.body;
  body.pop_back();
  constexpr std::size_t kBesideBlock = 256;  // about the size of the keys, the version and the names of members
  std::size_t bytes = 0;
  for (const auto& entity : found.entities) bytes += entity.block.size() + kBesideBlock;
  body.reserve(body.size() + bytes);
  body += groups ? R"(,"groups":[)" : keys_only ? R"(,"keys":[)" : R"(,"entities":[)";
  for (std::size_t i = 0; i < found.entities.size(); ++i) {
    if (i > 0) body += ',';
    if (keys_only) {
      append_keys(body, found.entities[i]);
    } else {
      append_entity(body, found.entities[i], request.projection);
    }
  }
  body += "]}";
  return response;
}

Answer look_up(Api& api, http::Request& request, std::string name) {
  auto status = CO_TRY(co_await api.lookup.status(std::move(name)));
  const auto given = QueryParameters::parse(request.query);
  if (!given) co_return fail(ErrorCode::kInvalidQueryParameterValue, "The query string has a broken percent escape.");
  const std::vector<std::pair<std::string, std::string>> parameters(given->begin(), given->end());
  const auto asked = CO_TRY(indexes::read_lookup(status.index.definition, parameters));
  const auto in_vain = [&] { return api.stopping->load() || (request.peer_gone && request.peer_gone()); };
  const auto answer = CO_TRY(co_await api.lookup.find(std::move(status), asked, in_vain, &request.waited));
  co_return lookup_response(answer, asked, api.clock.now());
}

}  // namespace

std::span<const Route> index_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/indexes", Role::kViewer, list_indexes},
      {"GET", "v1/indexes/*", Role::kViewer, show_index},
      {"PUT", "v1/indexes/*", Role::kOperator, put_index},
      {"DELETE", "v1/indexes/*", Role::kAdmin, drop_index},
      {"POST", "v1/indexes/*/pause", Role::kOperator, pause_index},
      {"POST", "v1/indexes/*/resume", Role::kOperator, resume_index},
      {"POST", "v1/indexes/*/rebuild", Role::kOperator, rebuild_index},
      {"POST", "v1/indexes/*/scrub", Role::kOperator, scrub_index},
      {"GET", "v1/indexes/*/lookup", Role::kViewer, look_up},
      {"GET", "v1/indexes/*/violations", Role::kViewer, list_violations},
  };
  return kRoutes;
}

nlohmann::ordered_json index_schemas() {
  nlohmann::ordered_json out{{"IndexDefinition", indexes::definition_schema()}};
  jobs::add_answers<ShownIndex, ShownViolation, ShownLookup>(out);
  return out;
}

}  // namespace tidemark::api
