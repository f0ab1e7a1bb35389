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
  auto body = co_await context.request.http->body->read_all(kMaxBodyBytes);
  if (body.failed_with(ErrorCode::kRequestBodyTooLarge)) {
    body.error().fields.assign(1, {"MaxLimit", std::to_string(kMaxBodyBytes)});
  }
  co_return body;
}

bool is_before(std::string_view version, std::string_view limit) { return !version.empty() && version < limit; }

Result<PutRequest> put_parameters(const QueueRequest& request) {
  const auto longest =
      is_before(request.version, kFirstVersionWithLongLife) ? kDefaultTimeToLiveSeconds : kLongestTimeToLiveSeconds;
  auto life = TRY(request.number("messagettl", -1, longest));
  auto delay = TRY(request.number("visibilitytimeout", 0, kMaxVisibilitySeconds));
  const auto life_s = life.value_or(kDefaultTimeToLiveSeconds);
  const auto delay_s = delay.value_or(0);
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
  auto put = CO_TRY(put_parameters(context.request));
  CO_TRY(read_put_extensions(context.request, put));
  auto body = CO_TRY(co_await read_body(context));
  put.text = CO_TRY(read_message_text(body));
  auto placed = CO_TRY(co_await context.service.put(context.request.account, context.request.queue, std::move(put)));
  if (is_before(context.request.version, kFirstVersionWithPutBody)) {
    http::Response response;
    response.status = 201;
    co_return response;
  }
  co_return xml(201, render_put(placed));
}

namespace {

/// Undoes a delivery to a client that went away while it waited: it was no attempt.
Task<void> give_back(OperationContext context, std::vector<TakenMessage> taken) {
  for (auto& each : taken) {
    LeaseKey holder{context.request.account, context.request.queue, each.message.id, 0, each.receipt};
    auto done = co_await context.service.release(std::move(holder), Duration::zero(), std::nullopt, false);
    static_cast<void>(done.has_value());  // if not, it comes back when its time is over
  }
}

}  // namespace

Task<Answer> get_messages(OperationContext context) {
  auto count = CO_TRY(context.request.number("numofmessages", 1, kMaxMessagesPerGet));
  auto visibility = CO_TRY(context.request.number("visibilitytimeout", 1, kMaxVisibilitySeconds));
  auto wait = CO_TRY(wait_in(context.request));
  auto detail = CO_TRY(wants_detail(context.request));
  TakeRequest request;
  request.count = static_cast<std::uint32_t>(count.value_or(1));
  request.visibility = std::chrono::seconds(visibility.value_or(kDefaultVisibilitySeconds));
  request.lease = detail;  // which tells the token
  const auto& peer_gone = context.request.http->peer_gone;
  WaitRequest waiting{wait, {}, peer_gone};
  auto taken =
      CO_TRY(co_await context.service.get(context.request.account, context.request.queue, request, std::move(waiting)));
  if (wait > Duration::zero() && !taken.empty() && peer_gone && peer_gone()) {
    co_await give_back(context, std::exchange(taken, {}));
  }
  auto response = xml(200, render_taken(taken, detail));
  if (detail) {
    std::string tokens;
    for (const auto& each : taken) tokens += (tokens.empty() ? "" : ",") + lease_token(each.message);
    response.set("x-ms-tidemark-lease", tokens);
  }
  co_return response;
}

Task<Answer> peek_messages(OperationContext context) {
  auto count = CO_TRY(context.request.number("numofmessages", 1, kMaxMessagesPerGet));
  auto detail = CO_TRY(wants_detail(context.request));
  const auto n = static_cast<std::uint32_t>(count.value_or(1));
  auto messages = CO_TRY(co_await context.service.peek(context.request.account, context.request.queue, n));
  co_return xml(200, render_peeked(messages, detail));
}

namespace {

Task<Answer> move_message(OperationContext context, LeaseKey holder, MoveRequest request) {
  // To set a message of one's own aside is part of taking it; to put it anywhere else is not.
  if (request.to_queue != poison_queue_of(holder.queue)) {
    CO_TRY(may_put_into(context.request, request.to_queue));
  }
  auto placed = CO_TRY(co_await context.service.move(std::move(holder), std::move(request)));
  co_return updated(placed);
}

Task<Answer> finish_message(OperationContext context, LeaseKey holder, Duration delay) {
  auto body = CO_TRY(co_await context.request.http->body->read_all(kMaxFinishBodyBytes));
  const auto queue = context.request.http->header(kFollowUpQueueHeader).value_or(holder.queue);
  auto follow_ups = CO_TRY(read_follow_ups(body, std::string(queue), delay));
  for (const auto& next : follow_ups) {
    CO_TRY(may_put_into(context.request, next.queue));
  }
  auto placed = CO_TRY(co_await context.service.finish(std::move(holder), std::move(follow_ups)));
  auto response = no_content();
  std::string ids;
  for (const auto& message : placed) ids += (ids.empty() ? "" : ",") + message.id;
  response.set("x-ms-tidemark-follow-up-ids", ids);
  co_return response;
}

}  // namespace

Task<Answer> update_message(OperationContext context) {
  auto holder = CO_TRY(holder_in(context.request));
  auto visibility = CO_TRY(context.request.number("visibilitytimeout", 0, kMaxVisibilitySeconds));
  auto moving = CO_TRY(move_in(context.request));
  auto finishing = CO_TRY(wants_finish(context.request));
  const Duration span = std::chrono::seconds(visibility.value_or(0));
  if (moving && finishing) {
    co_return fail(invalid_header("x-ms-tidemark-finish", "true", "A message is either finished or moved."));
  }
  if (moving) {
    co_return co_await move_message(context, std::move(holder), std::move(*moving));
  }
  if (finishing) {
    co_return co_await finish_message(context, std::move(holder), span);
  }
  if (!visibility) co_return fail(missing_parameter("visibilitytimeout"));
  auto body = CO_TRY(co_await read_body(context));
  std::optional<std::string> text;
  if (!body.empty()) {
    text = CO_TRY(read_message_text(body));
  }
  auto placed = CO_TRY(co_await context.service.update(std::move(holder), span, std::move(text)));
  co_return updated(placed);
}

Task<Answer> delete_message(OperationContext context) {
  auto holder = CO_TRY(holder_in(context.request));
  CO_TRY(co_await context.service.erase(std::move(holder)));
  co_return no_content();
}

Task<Answer> clear_messages(OperationContext context) {
  CO_TRY(co_await context.service.clear(context.request.account, context.request.queue));
  co_return no_content();
}

}  // namespace tidemark::queue_service::rest::operations
