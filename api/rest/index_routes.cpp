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
std::string version_text(table_store::Version version) { return to_iso8601(Time(Ticks(version))); }

json walk_json(const Status& status) {
  const auto& progress = status.progress;
  json out{{"walked", progress.walked}};
  if (progress.total > 0) out["total"] = progress.total;
  const auto took = seconds(Time(Ticks(progress.version)) - progress.walk_began);
  if (took <= 0 || progress.walked == 0) return out;
  const auto rate = static_cast<double>(progress.walked) / took;
  out["perSecond"] = rate;
  if (status.state() == indexes::kBuilding && progress.total > progress.walked) {
    out["secondsLeft"] = static_cast<double>(progress.total - progress.walked) / rate;
  }
  return out;
}

/// Adds the facts that the owner has written.
void add_progress(const Status& status, Time now, json& out) {
  const auto& progress = status.progress;
  if (progress.version == 0) return;
  out["figuresAgeSeconds"] = seconds(std::max(now - Time(Ticks(progress.version)), Duration::zero()));
  out["changes"] = progress.changes;
  out["wrongEver"] = progress.wrong_ever;
  const bool scrub_asked = progress.scrubs < status.index.scrubs_asked;
  if (status.state() != indexes::kReady || scrub_asked) out["walk"] = walk_json(status);
  if (scrub_asked) out["scrubAsked"] = true;
  if (progress.proven_at != Time{}) {
    out["lastScrub"] = {{"at", to_iso8601(progress.proven_at)},
                        {"checked", progress.checked},
                        {"wrong", progress.wrong},
                        {"proven", version_text(progress.proven)}};
  }
  if (progress.in_the_way > 0) {
    out["inTheWay"] = {{"rows", progress.in_the_way}};
    auto examples = json_or_discarded(progress.in_the_way_examples);
    if (examples.is_array()) out["inTheWay"]["examples"] = std::move(examples);
  }
  if (!progress.last_error.empty()) {
    out["lastError"] = {
        {"message", progress.last_error}, {"at", to_iso8601(progress.last_error_at)}, {"inARow", progress.errors}};
  }
}

void add_owner(const Status& status, Time now, json& out) {
  if (status.owner.worker.empty()) return;
  out["owner"] = {{"worker", status.owner.worker}, {"epoch", status.owner.epoch}};
  if (status.owner_seen) {
    out["owner"]["seenSecondsAgo"] = seconds(std::max(now - *status.owner_seen, Duration::zero()));
  }
}

/// Returns state, position and lag, which are also part of the answer to a lookup.
json freshness_json(const Status& status, Time now) {
  json out{{"name", status.index.name}, {"state", status.state()}, {"paused", status.index.paused}};
  if (status.position() != 0) out["position"] = version_text(status.position());
  if (!status.follower) return out;
  out["lag"] = {{"changes", status.follower->changes_behind}, {"bytes", status.follower->bytes_behind}};
  if (const auto lag = status.lag(now)) out["lag"]["seconds"] = seconds(*lag);
  return out;
}

json index_json(const Status& status, Time now) {
  auto out = freshness_json(status, now);
  out["definition"] = indexes::to_json(status.index.definition);
  out["createdAt"] = to_iso8601(status.index.created_at);
  add_progress(status, now, out);
  add_owner(status, now, out);
  return out;
}

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

Answer list_violations(Api& api, http::Request& request, std::string name) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto index = CO_TRY(co_await find_index(api, std::move(name)));
  const auto page = CO_TRY(co_await api.indexes.violations(index.id, limit, parameters.text("continuation")));
  co_return page_response("violations", page.violations, page.continuation, [](const indexes::Violation& violation) {
    auto entities = json_or_discarded(violation.examples);
    return json{{"group", violation.group},
                {"count", violation.count},
                {"examples", entities.is_array() ? std::move(entities) : json::array()}};
  });
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

/// Writes the entities as text directly, because they are most of the answer.
http::Response lookup_response(const indexes::LookupAnswer& answer, const indexes::LookupRequest& request, Time now) {
  auto head = freshness_json(answer.status, now);
  const auto& found = answer.found;
  head["leftOut"] = found.left_out;
  if (!found.continuation.empty()) head["continuation"] = found.continuation;
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

}  // namespace tidemark::api
