// Operations on messages.
#include "queue_service/rest/message_extensions.h"
#include "queue_service/rest/queue_operations.h"
#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest::operations {
namespace {

constexpr std::int64_t kMaxVisibilitySeconds = 604800;
constexpr std::int64_t kDefaultVisibilitySeconds = 30;
constexpr std::int64_t kDefaultTimeToLiveSeconds = 604800;
constexpr std::int64_t kLongestTimeToLiveSeconds = INT64_MAX / 10'000'000;  // what Duration holds
constexpr std::string_view kFirstVersionWithLongLife = "2017-07-29";
constexpr std::string_view kFirstVersionWithPutBody = "2016-05-31";

http::Response xml(unsigned status, std::string body) {
  http::Response response;
  response.status = status;
  response.set("Content-Type", "application/xml");
  response.set("Cache-Control", "no-cache");
  response.body = std::move(body);
  return response;
}

http::Response no_content() {
  http::Response response;
  response.status = 204;
  return response;
}

Task<Result<std::string>> read_body(OperationContext context) {
  auto task = context.request.http->body->read_all(kMaxBodyBytes);
  auto body = co_await std::move(task);
  if (body.failed_with(ErrorCode::kRequestBodyTooLarge)) {
    body.error().fields.assign(1, {"MaxLimit", std::to_string(kMaxBodyBytes)});
  }
  co_return body;
}

bool is_before(std::string_view version, std::string_view limit) { return !version.empty() && version < limit; }

Result<PutRequest> put_parameters(const QueueRequest& request) {
  const auto longest =
      is_before(request.version, kFirstVersionWithLongLife) ? kDefaultTimeToLiveSeconds : kLongestTimeToLiveSeconds;
  auto life = request.number("messagettl", -1, longest);
  if (!life) return fail(std::move(life.error()));
  auto delay = request.number("visibilitytimeout", 0, kMaxVisibilitySeconds);
  if (!delay) return fail(std::move(delay.error()));
  const auto life_s = life->value_or(kDefaultTimeToLiveSeconds);
  const auto delay_s = delay->value_or(0);
  if (life_s == 0) {
    return fail(invalid_parameter("messagettl", "0", "Value must be -1 (never expires) or at least 1 second."));
  }
  if (life_s > 0 && delay_s >= life_s) {
    return fail(invalid_parameter("visibilitytimeout", std::to_string(delay_s),
                                  "messagettl must be greater than visibilitytimeout."));
  }
  PutRequest put;
  put.delay = std::chrono::seconds(delay_s);
  if (life_s > 0) put.time_to_live = std::chrono::seconds(life_s);
  return put;
}

/// A caller who may do one thing to this queue may not therefore put into that one.
Result<void> may_put_into(const QueueRequest& request, std::string_view queue) {
  return auth::authorize(request.identity, {auth::ResourceType::kObject, "a", "", true, true}, queue);
}

http::Response updated(const Placed& placed) {
  auto response = no_content();
  response.set("x-ms-popreceipt", placed.receipt);
  response.set("x-ms-time-next-visible", to_rfc1123(placed.next_visible));
  return response;
}

}  // namespace

Task<Answer> put_message(OperationContext context) {
  auto put = put_parameters(context.request);
  if (!put) co_return fail(std::move(put.error()));
  if (auto read = read_put_extensions(context.request, *put); !read) co_return fail(std::move(read.error()));
  auto reading = read_body(context);
  auto body = co_await std::move(reading);
  if (!body) co_return fail(std::move(body.error()));
  auto text = read_message_text(*body);
  if (!text) co_return fail(std::move(text.error()));
  put->text = std::move(*text);
  auto task = context.service.put(context.request.account, context.request.queue, std::move(*put));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  if (is_before(context.request.version, kFirstVersionWithPutBody)) {
    http::Response response;
    response.status = 201;
    co_return response;
  }
  co_return xml(201, render_put(*placed));
}

namespace {

/// Undoes a delivery to a client that went away while it waited: it was no attempt.
Task<void> give_back(OperationContext context, std::vector<TakenMessage> taken) {
  for (auto& each : taken) {
    LeaseKey holder{context.request.account, context.request.queue, each.message.id, 0, each.receipt};
    auto task = context.service.release(std::move(holder), Duration::zero(), std::nullopt, false);
    auto done = co_await std::move(task);
    static_cast<void>(done.has_value());  // if not, it comes back when its time is over
  }
}

}  // namespace

Task<Answer> get_messages(OperationContext context) {
  auto count = context.request.number("numofmessages", 1, kMaxMessagesPerGet);
  if (!count) co_return fail(std::move(count.error()));
  auto visibility = context.request.number("visibilitytimeout", 1, kMaxVisibilitySeconds);
  if (!visibility) co_return fail(std::move(visibility.error()));
  auto wait = wait_in(context.request);
  if (!wait) co_return fail(std::move(wait.error()));
  auto detail = wants_detail(context.request);
  if (!detail) co_return fail(std::move(detail.error()));
  TakeRequest request;
  request.count = static_cast<std::uint32_t>(count->value_or(1));
  request.visibility = std::chrono::seconds(visibility->value_or(kDefaultVisibilitySeconds));
  request.lease = *detail;  // which tells the token
  const auto& peer_gone = context.request.http->peer_gone;
  WaitRequest waiting{*wait, {}, peer_gone};
  auto task = context.service.get(context.request.account, context.request.queue, request, std::move(waiting));
  auto taken = co_await std::move(task);
  if (!taken) co_return fail(std::move(taken.error()));
  if (*wait > Duration::zero() && !taken->empty() && peer_gone && peer_gone()) {
    auto giving = give_back(context, std::exchange(*taken, {}));
    co_await std::move(giving);
  }
  auto response = xml(200, render_taken(*taken, *detail));
  if (*detail) {
    std::string tokens;
    for (const auto& each : *taken) tokens += (tokens.empty() ? "" : ",") + lease_token(each.message);
    response.set("x-ms-tidemark-lease", tokens);
  }
  co_return response;
}

Task<Answer> peek_messages(OperationContext context) {
  auto count = context.request.number("numofmessages", 1, kMaxMessagesPerGet);
  if (!count) co_return fail(std::move(count.error()));
  auto detail = wants_detail(context.request);
  if (!detail) co_return fail(std::move(detail.error()));
  const auto n = static_cast<std::uint32_t>(count->value_or(1));
  auto task = context.service.peek(context.request.account, context.request.queue, n);
  auto messages = co_await std::move(task);
  if (!messages) co_return fail(std::move(messages.error()));
  co_return xml(200, render_peeked(*messages, *detail));
}

namespace {

Task<Answer> move_message(OperationContext context, LeaseKey holder, MoveRequest request) {
  // To set a message of one's own aside is part of taking it; to put it anywhere else is not.
  if (request.to_queue != poison_queue_of(holder.queue)) {
    auto allowed = may_put_into(context.request, request.to_queue);
    if (!allowed) co_return fail(std::move(allowed.error()));
  }
  auto task = context.service.move(std::move(holder), std::move(request));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  co_return updated(*placed);
}

Task<Answer> finish_message(OperationContext context, LeaseKey holder, Duration delay) {
  auto reading = context.request.http->body->read_all(kMaxFinishBodyBytes);
  auto body = co_await std::move(reading);
  if (!body) co_return fail(std::move(body.error()));
  const auto queue = context.request.http->header(kFollowUpQueueHeader).value_or(holder.queue);
  auto follow_ups = read_follow_ups(*body, std::string(queue), delay);
  if (!follow_ups) co_return fail(std::move(follow_ups.error()));
  for (const auto& next : *follow_ups) {
    auto allowed = may_put_into(context.request, next.queue);
    if (!allowed) co_return fail(std::move(allowed.error()));
  }
  auto task = context.service.finish(std::move(holder), std::move(*follow_ups));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  auto response = no_content();
  std::string ids;
  for (const auto& message : *placed) ids += (ids.empty() ? "" : ",") + message.id;
  response.set("x-ms-tidemark-follow-up-ids", ids);
  co_return response;
}

}  // namespace

Task<Answer> update_message(OperationContext context) {
  auto holder = holder_in(context.request);
  if (!holder) co_return fail(std::move(holder.error()));
  auto visibility = context.request.number("visibilitytimeout", 0, kMaxVisibilitySeconds);
  if (!visibility) co_return fail(std::move(visibility.error()));
  auto moving = move_in(context.request);
  if (!moving) co_return fail(std::move(moving.error()));
  auto finishing = wants_finish(context.request);
  if (!finishing) co_return fail(std::move(finishing.error()));
  const Duration span = std::chrono::seconds(visibility->value_or(0));
  if (*moving && *finishing) {
    co_return fail(invalid_header("x-ms-tidemark-finish", "true", "A message is either finished or moved."));
  }
  if (*moving) {
    auto task = move_message(context, std::move(*holder), std::move(**moving));
    co_return co_await std::move(task);
  }
  if (*finishing) {
    auto task = finish_message(context, std::move(*holder), span);
    co_return co_await std::move(task);
  }
  if (!*visibility) co_return fail(missing_parameter("visibilitytimeout"));
  auto reading = read_body(context);
  auto body = co_await std::move(reading);
  if (!body) co_return fail(std::move(body.error()));
  std::optional<std::string> text;
  if (!body->empty()) {
    auto given = read_message_text(*body);
    if (!given) co_return fail(std::move(given.error()));
    text = std::move(*given);
  }
  auto task = context.service.update(std::move(*holder), span, std::move(text));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  co_return updated(*placed);
}

Task<Answer> delete_message(OperationContext context) {
  auto holder = holder_in(context.request);
  if (!holder) co_return fail(std::move(holder.error()));
  auto task = context.service.erase(std::move(*holder));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return no_content();
}

Task<Answer> clear_messages(OperationContext context) {
  auto task = context.service.clear(context.request.account, context.request.queue);
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return no_content();
}

}  // namespace tidemark::queue_service::rest::operations
