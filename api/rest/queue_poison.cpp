#include "api/rest/queue_poison.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/json.h"
#include "common/base/side_by_side.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::api {
namespace {

using nlohmann::json;
using queue_service::Message;
using queue_service::poison_queue_of;

/// The queue exists only once the first message went wrong.
template <class T>
Result<T> or_not_found(Result<T> outcome) {
  const bool nothing =
      outcome.failed_with(ErrorCode::kMessageNotFound) || outcome.failed_with(ErrorCode::kQueueNotFound);
  if (nothing) return fail(ErrorCode::kPoisonNotFound);
  return outcome;
}

struct NewText {
  std::string body;
  static constexpr const char* kSchema = "MessageText";
  void members(jobs::SpecMembers& in) { in.text("body", body, true, {.meaning = "the message's new text"}); }
};

struct ShownQueuePoison {
  Message message;
  std::string queue;
  static constexpr const char* kSchema = "QueuePoison";
  void members(jobs::SpecMembers& to) const {
    // Use only the queue's own note: an annotation of a worker in the same place is the worker's business.
    const auto note = to.writes() ? json_or_discarded(message.annotation) : json();
    const auto text_in_note = [&note](const char* name) {
      const bool known = note.is_object() && note.contains(name) && note[name].is_string();
      return known ? std::optional(note[name].get<std::string>()) : std::nullopt;
    };
    std::uint64_t count = message.dequeue_count;
    const bool counted = note.is_object() && note.contains("dequeueCount") && note["dequeueCount"].is_number_unsigned();
    if (counted) count = std::max(count, note["dequeueCount"].get<std::uint64_t>());
    to.shows("id", message.id);
    to.shows("queue", queue, {.meaning = "the queue to which it goes back"});
    to.shows("etag", etag_of(message), {.meaning = "for If-Match"});
    to.shows("body", message.text);
    to.shows("original", message.original, kAboutOriginalText);
    to.shows("dequeueCount", count);
    to.shows("insertedAt", message.inserted);
    to.shows("reason", text_in_note("reason"));
    to.shows("movedAt", text_in_note("movedAt").and_then(parse_iso8601));
  }
};

struct PoisonedQueue {
  std::string name;
  std::uint64_t messages = 0;
  static constexpr const char* kSchema = "PoisonedQueue";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", name);
    to.shows("messages", messages);
  }
};

}  // namespace

Answer list_poisoned_queues(Api& api, const http::Request& request) {
  const auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  auto names = CO_TRY(co_await api.queues.list_queues({}));
  const auto after = parameters.text("continuation");
  std::erase_if(names, [&](const std::string& name) {
    return !queue_service::is_poison_queue(name) || name == jobs::kPoisonQueue || name <= after;
  });
  std::ranges::sort(names);
  const auto shown = std::min<std::size_t>(names.size(), limit);
  const auto continuation = shown < names.size() ? names[shown - 1] : std::string();
  names.resize(shown);
  std::vector<std::uint64_t> counts(shown);
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    auto figures = co_await api.queues.figures(names[number]);
    if (figures.failed_with(ErrorCode::kQueueNotFound)) co_return Result<void>();
    counts[number] = CO_TRY(std::move(figures)).messages;
    co_return Result<void>();
  };
  CO_TRY(co_await side_by_side(api.clock, shown, std::move(step)));
  auto list = json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    if (counts[i] == 0) continue;
    auto name = names[i].substr(0, names[i].size() - queue_service::kPoisonSuffix.size());
    list.push_back(json_of(PoisonedQueue{std::move(name), counts[i]}));
  }
  json body{{"queues", std::move(list)}};
  if (!continuation.empty()) body["continuation"] = continuation;
  co_return json_response(200, body);
}

Result<std::optional<QueuePoison>> QueuePoison::of(Api& api, const Parameters& parameters) {
  auto queue = parameters.text("queue");
  if (!parameters.has("queue") || jobs::is_job_queue(queue)) return std::optional<QueuePoison>();
  if (queue.empty() || queue_service::is_poison_queue(queue)) {
    return fail(ErrorCode::kInvalidQueryParameterValue, "queue names the queue itself, without -poison.");
  }
  TRY(check_queue_name(queue));
  for (const auto* filter : {"kind", "source", "fingerprint", "movedAfter", "movedBefore"}) {
    if (!parameters.has(filter)) continue;
    return fail(ErrorCode::kInvalidQueryParameterValue,
                std::string(filter) + " selects among the jobs' poison messages; those of a queue have no such thing.");
  }
  return QueuePoison(api, std::move(queue));
}

json QueuePoison::to_json(const Message& message) const { return json_of(ShownQueuePoison{message, queue_}); }

Task<Result<Message>> QueuePoison::find(std::string id) const {
  auto message = CO_TRY(or_not_found(co_await queues_.find(poison_queue_of(queue_), std::move(id))));
  if (!message) co_return fail(ErrorCode::kPoisonNotFound);
  co_return std::move(*message);
}

Answer QueuePoison::list(std::uint32_t limit, std::string continuation) const {
  auto page = co_await queues_.list(poison_queue_of(queue_), limit, std::move(continuation));
  if (page.failed_with(ErrorCode::kQueueNotFound)) {
    const auto queue = co_await queues_.figures(queue_);
    if (queue.failed_with(ErrorCode::kQueueNotFound)) {
      co_return fail(ErrorCode::kQueueNotFound, "There is no queue " + queue_ + ".");
    }
    page = queue_service::MessagePage{};
  }
  const auto found = CO_TRY(std::move(page));
  co_return page_response("poison", found.messages, found.continuation,
                          [this](const Message& message) { return to_json(message); });
}

Answer QueuePoison::show(std::string id) const {
  const auto message = CO_TRY(co_await find(std::move(id)));
  auto response = json_response(200, to_json(message));
  response.set("ETag", etag_of(message));
  co_return response;
}

Answer QueuePoison::edit(std::string id, std::string body, std::string seen) const {
  auto text = CO_TRY(members_in<NewText>(body)).body;
  const auto message = CO_TRY(co_await find(std::move(id)));
  const auto poison = poison_queue_of(queue_);
  // Moving from the queue to itself is one transaction, and the note stays.
  CO_TRY(or_not_found(co_await queues_.redrive(poison, message.id, poison, std::move(text), message.annotation,
                                               message.epoch, std::move(seen))));
  co_return co_await show(message.id);
}

Answer QueuePoison::redrive(std::string id, std::string body, std::string seen) const {
  std::optional<std::string> text;
  if (!body.empty()) text = CO_TRY(members_in<NewText>(body)).body;
  auto message = CO_TRY(co_await find(std::move(id)));
  CO_TRY(co_await poison_.send_back(queue_, message.id, text, message.epoch, std::move(seen)));
  if (text) message.text = std::move(*text);
  co_return json_response(202, to_json(message));
}

Answer QueuePoison::remove(std::string id) const {
  CO_TRY(co_await poison_.remove_from(queue_, std::move(id)));
  co_return no_content();
}

nlohmann::ordered_json queue_poison_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<NewText>(out);
  jobs::add_answers<ShownQueuePoison, PoisonedQueue>(out);
  return out;
}

}  // namespace tidemark::api
