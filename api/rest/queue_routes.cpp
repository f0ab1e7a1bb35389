// Queues and their messages, for people who change them: queues made, cleared and deleted; messages put, taken under a
// lease, changed and deleted by it. operator_routes.cpp and data_routes.cpp look at them.
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_parts.h"

namespace tidemark::api {
namespace {

using queue_service::Lease;
using queue_service::Placed;

constexpr std::size_t kMaxMessageBody = 8 * queue_service::kMaxTextBytes;  // a text whose characters are escaped
constexpr std::int64_t kMostSecondsAway = 604'800;
constexpr std::int64_t kSecondsAway = 30;
constexpr std::int64_t kSecondsOfLife = 604'800;
constexpr jobs::About kAboutText{.meaning = "at most 64 KiB of UTF-8"};

Duration span_of(std::int64_t seconds) { return std::chrono::seconds(seconds); }

struct QueueSpec {
  std::optional<std::uint32_t> max_dequeue_count;
  queue_service::Metadata metadata;
  static constexpr const char* kSchema = "QueueSpec";
  void members(jobs::SpecMembers& in) {
    in.number("maxDequeueCount", max_dequeue_count, 0, queue_service::kMaxMaxDequeueCount,
              {.meaning = "a message that was taken so often goes to NAME-poison; 0: never"});
    if (in.describes()) {
      in.describe("metadata", {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}},
                  {.meaning = "texts by their names, at most 8 KiB in all"});
    }
    const auto* given = in.any("metadata");
    if (given == nullptr) return;
    if (!given->is_object() || !std::ranges::all_of(*given, [](const auto& each) { return each.is_string(); })) {
      return in.problem("metadata must be an object whose values are texts");
    }
    for (const auto& [name, value] : given->items()) metadata.emplace_back(name, value.template get<std::string>());
  }
};

Answer show_made(Api& api, std::string queue, bool made) {
  const auto figures = CO_TRY(co_await api.queues.figures(queue));
  co_return json_response(made ? 201 : 200, to_json(std::pair(std::move(queue), figures)));
}

Answer make_queue(Api& api, http::Request& request, std::string queue) {
  CO_TRY(check_may_change_queue(queue));
  auto spec = CO_TRY(co_await read_members<QueueSpec>(request));
  auto metadata = std::move(spec.metadata);
  if (spec.max_dequeue_count) {
    const auto count = std::to_string(*spec.max_dequeue_count);
    metadata = queue_service::patched(std::move(metadata), {{std::string(queue_service::kMaxDequeueCountName),
                                                             *spec.max_dequeue_count == 0 ? "" : count}});
  }
  const bool asks_for_nothing = metadata.empty() && !spec.max_dequeue_count;
  auto made = co_await api.queues.create_queue(queue, std::move(metadata));
  if (made.failed_with(ErrorCode::kQueueAlreadyExists)) {
    if (asks_for_nothing) co_return co_await show_made(api, std::move(queue), false);
    co_return fail(ErrorCode::kQueueAlreadyExists,
                   "The queue " + queue +
                       " exists with other metadata or another maxDequeueCount. Ask for none to "
                       "leave it as it is, or change them at the queue service's own endpoint.");
  }
  co_return co_await show_made(api, std::move(queue), CO_TRY(std::move(made)));
}

Answer drop_queue(Api& api, http::Request&, std::string queue) {
  CO_TRY(check_may_change_queue(queue));
  CO_TRY(co_await api.queues.delete_queue(std::move(queue)));
  co_return no_content();
}

Answer clear_queue(Api& api, http::Request&, std::string queue) {
  CO_TRY(check_may_change_queue(queue));
  CO_TRY(co_await api.queues.clear(std::move(queue)));
  co_return no_content();
}

struct NewMessage {
  std::string text, group, idempotency_key;
  std::int64_t visible_in = 0, life = kSecondsOfLife;
  static constexpr const char* kSchema = "NewMessage";
  void members(jobs::SpecMembers& in) {
    in.text("text", text, true, kAboutText);
    in.number("visibleInSeconds", visible_in, 0, kMostSecondsAway, {.meaning = "nobody can take it before"});
    in.number("timeToLiveSeconds", life, -1, INT32_MAX,
              {.meaning = "it is removed after this time; -1: it stays until somebody deletes it"});
    in.text("group", group, {.meaning = "one message of a group is in flight at a time, in the order of their puts"});
    in.text("idempotencyKey", idempotency_key,
            {.meaning = "another put with this key within a day gives the same message"});
    if (life == 0) in.problem("timeToLiveSeconds must be -1, for ever, or at least 1");
    if (life > 0 && visible_in >= life) in.problem("timeToLiveSeconds must be more than visibleInSeconds");
  }
};

struct ShownPlaced {
  Placed placed;
  static constexpr const char* kSchema = "PlacedMessage";
  void members(jobs::SpecMembers& to) const {
    const bool expires = placed.expires != queue_service::kNeverExpires;
    to.shows("id", placed.id);
    to.shows("insertedAt", placed.inserted);
    to.shows("expiresAt", expires ? std::optional(placed.expires) : std::nullopt, {.meaning = "absent: never"});
    to.shows("nextVisibleAt", placed.next_visible);
  }
};

template <class T>
Task<Result<T>> read_message_members(http::Request& request) {
  const auto text = CO_TRY(co_await request.body->read_all(kMaxMessageBody));
  co_return members_in<T>(text);
}

Answer put_message(Api& api, http::Request& request, Action& action, std::string queue) {
  CO_TRY(check_may_change_queue(queue));
  auto message = CO_TRY(co_await read_message_members<NewMessage>(request));
  queue_service::PutRequest put;
  put.text = std::move(message.text);
  put.delay = span_of(message.visible_in);
  put.time_to_live = queue_service::life_of(message.life);
  put.group = std::move(message.group);
  put.idempotency_key = std::move(message.idempotency_key);
  auto placed = CO_TRY(co_await api.queues.put_placed(std::move(queue), std::move(put)));
  action.detail = placed.id;
  co_return json_response(201, json_of(ShownPlaced{std::move(placed)}));
}

struct TakeOrder {
  std::uint32_t count = 1;
  std::int64_t visibility = kSecondsAway;
  static constexpr const char* kSchema = "TakeOrder";
  void members(jobs::SpecMembers& in) {
    in.number("count", count, 1, queue_service::kMaxMessagesPerGet);
    in.number("visibilitySeconds", visibility, 1, kMostSecondsAway,
              {.meaning = "nobody else can take the messages for so long, unless they are given back before"});
  }
};

struct ShownTaken {
  queue_service::Message message;
  static constexpr const char* kSchema = "TakenMessage";
  void members(jobs::SpecMembers& to) const {
    const bool expires = message.expires != queue_service::kNeverExpires;
    to.shows("id", message.id);
    to.shows("lease", message.epoch, {.meaning = "deletes or changes the message as long as it is not taken again"});
    to.shows("text", message.text);
    to.shows("insertedAt", message.inserted);
    to.shows("expiresAt", expires ? std::optional(message.expires) : std::nullopt, {.meaning = "absent: never"});
    to.shows("nextVisibleAt", message.next_visible, {.meaning = "others can take it from then on"});
    to.shows("dequeueCount", message.dequeue_count);
    to.shows_unless_empty("group", message.group);
  }
};

Answer take_messages(Api& api, http::Request& request, Action& action, std::string queue) {
  CO_TRY(check_may_change_queue(queue));
  const auto order = CO_TRY(co_await read_members<TakeOrder>(request));
  const auto taken = CO_TRY(co_await api.queues.receive_some(std::move(queue), span_of(order.visibility), order.count));
  action.count = static_cast<std::int64_t>(taken.size());
  co_return page_response("messages", taken, {},
                          [](const queue_service::Message& message) { return json_of(ShownTaken{message}); });
}

/// Reads QUEUE/MESSAGE of the path, and the parameter lease.
Result<Lease> read_lease(const http::Request& request, const std::string& name) {
  const auto slash = name.find('/');
  Lease lease{name.substr(0, slash), name.substr(slash + 1)};
  TRY(check_may_change_queue(lease.queue));
  const auto given = TRY(TRY(Parameters::read(request)).number("lease", 1, INT64_MAX));
  if (!given) {
    return fail(ErrorCode::kMissingRequiredQueryParameter,
                "lease is needed: the number that the message had when it was taken.");
  }
  lease.epoch = static_cast<std::uint64_t>(*given);
  return lease;
}

/// Makes a call with the lease of a message. A lease does not tell which part of a spread queue has the message, so
/// the parts are asked one after another.
template <class Call>
auto with_lease(Api& api, Lease lease, Call call) -> decltype(call(lease)) {
  const auto whole = lease.queue;
  auto done = co_await call(lease);
  if (!done.failed_with(ErrorCode::kLeaseLost)) co_return done;
  const auto parts = CO_TRY(co_await api.queues.figures(whole)).parts;
  for (const auto& part : queue_service::part_names(whole, std::max(1U, parts))) {
    if (part == whole) continue;
    lease.queue = part;
    done = co_await call(lease);
    if (!done.failed_with(ErrorCode::kLeaseLost)) co_return done;
  }
  co_return fail(ErrorCode::kLeaseLost, "The message " + lease.message_id +
                                            " is not held by this lease any more: it was "
                                            "given back, taken again, moved or deleted. Take it again to change it.");
}

Answer delete_message(Api& api, http::Request& request, std::string name) {
  auto lease = CO_TRY(read_lease(request, name));
  CO_TRY(
      co_await with_lease(api, std::move(lease), [&api](Lease held) { return api.queues.complete(std::move(held)); }));
  co_return no_content();
}

struct MessageChange {
  std::optional<std::string> text;
  std::int64_t visibility = kSecondsAway;
  static constexpr const char* kSchema = "MessageChange";
  void members(jobs::SpecMembers& in) {
    std::string given;
    if (in.text("text", given, kAboutText)) text = std::move(given);
    in.number("visibilitySeconds", visibility, 0, kMostSecondsAway,
              {.meaning = "the lease goes on for so long from now; 0: the message is given back and can be taken"});
  }
};

Answer change_message(Api& api, http::Request& request, std::string name) {
  auto lease = CO_TRY(read_lease(request, name));
  const auto change = CO_TRY(co_await read_message_members<MessageChange>(request));
  auto placed = CO_TRY(co_await with_lease(api, std::move(lease), [&](Lease held) {
    return api.queues.update(std::move(held), span_of(change.visibility), change.text);
  }));
  co_return json_response(200, json_of(ShownPlaced{std::move(placed)}));
}

}  // namespace

std::span<const Route> queue_routes() {
  static constexpr Route kRoutes[] = {
      {"PUT", "v1/queues/*", Role::kOperator, make_queue},
      {"DELETE", "v1/queues/*", Role::kAdmin, drop_queue},
      {"POST", "v1/queues/*/clear", Role::kAdmin, clear_queue},
      {"POST", "v1/queues/*/messages", Role::kOperator, put_message},
      {"POST", "v1/queues/*/take", Role::kOperator, take_messages},
      {"DELETE", "v1/queues/*/messages/*", Role::kOperator, delete_message},
      {"PATCH", "v1/queues/*/messages/*", Role::kOperator, change_message},
  };
  return kRoutes;
}

nlohmann::ordered_json queue_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<QueueSpec, NewMessage, TakeOrder, MessageChange>(out);
  jobs::add_answers<ShownPlaced, ShownTaken>(out);
  return out;
}

}  // namespace tidemark::api
