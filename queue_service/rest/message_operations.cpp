// Operations on messages.
#include "common/protocol/protocol_errors.h"
#include "queue_service/rest/message_extensions.h"
#include "queue_service/rest/queue_operations.h"
#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest::operations {
namespace {

constexpr std::int64_t kMaxVisibilitySeconds = 604800;
constexpr std::int64_t kDefaultVisibilitySeconds = 30;
constexpr std::int64_t kDefaultTimeToLiveSeconds = 604800;
constexpr std::string_view kFirstVersionWithLongLife = "2017-07-29";
constexpr std::string_view kFirstVersionWithPutBody = "2016-05-31";

bool is_before(std::string_view version, std::string_view limit) { return !version.empty() && version < limit; }

Result<PutRequest> put_parameters(const Call& call) {
  const auto longest =
      is_before(call.identity.version, kFirstVersionWithLongLife) ? kDefaultTimeToLiveSeconds : INT64_MAX;
  auto life = TRY(call.number("messagettl", -1, longest));
  auto delay = TRY(call.number("visibilitytimeout", 0, kMaxVisibilitySeconds));
  const auto life_s = life.value_or(kDefaultTimeToLiveSeconds);
  const auto delay_s = delay.value_or(0);
  if (life_s == 0) {
    return fail(
        protocol::invalid_parameter("messagettl", "0", "Value must be -1 (never expires) or at least 1 second."));
  }
  if (life_s > 0 && delay_s >= life_s) {
    return fail(protocol::invalid_parameter("visibilitytimeout", std::to_string(delay_s),
                                            "messagettl must be greater than visibilitytimeout."));
  }
  PutRequest put;
  put.delay = std::chrono::seconds(delay_s);
  put.time_to_live = life_of(life_s);
  return put;
}

/// Checks that the caller may put into this queue. The permission for the request's own queue does not imply that.
Result<void> may_put_into(const Call& call, std::string_view queue) {
  return auth::authorize(call.identity, {auth::ResourceType::kObject, "a", "", true, true}, queue);
}

/// Charges all messages but the first, which was counted when the request came.
void charge_further(const Call& call, std::size_t messages) {
  if (messages > 1) call.charge_items({call.target.queue}, messages - 1);
}

http::Response updated(const Placed& placed) {
  auto response = empty_response(204);
  response.set("x-ms-popreceipt", placed.receipt);
  response.set("x-ms-time-next-visible", to_rfc1123(placed.next_visible));
  return response;
}

}  // namespace

Answer put_message(Call& call) {
  auto put = CO_TRY(put_parameters(call));
  CO_TRY(read_put_extensions(call, put));
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBodyBytes));
  put.text = CO_TRY(read_message_text(body));
  auto placed = CO_TRY(co_await call.service.call(calls::Put{call.account(), call.target.queue, std::move(put)}));
  if (is_before(call.identity.version, kFirstVersionWithPutBody)) {
    co_return empty_response(201);
  }
  co_return uncached(xml_response(201, render_put(placed)));
}

namespace {

/// Undoes a delivery to a client that went away while it waited: it does not count as an attempt.
Task<void> give_back(Call& call, std::vector<TakenMessage> taken) {
  for (auto& each : taken) {
    auto place = place_of_receipt(call.target.queue, each.receipt);
    LeaseKey holder{call.account(), std::move(place), each.message.id, 0, each.receipt};
    auto done = co_await call.service.call(calls::GiveBack{std::move(holder)});
    static_cast<void>(done.has_value());  // if it failed, the message becomes visible when its time is over
  }
}

}  // namespace

Answer get_messages(Call& call) {
  auto count = CO_TRY(call.number("numofmessages", 1, kMaxMessagesPerGet));
  auto visibility = CO_TRY(call.number("visibilitytimeout", 1, kMaxVisibilitySeconds));
  auto wait = CO_TRY(wait_in(call));
  auto detail = CO_TRY(wants_detail(call));
  TakeRequest request;
  request.count = static_cast<std::uint32_t>(count.value_or(1));
  request.visibility = std::chrono::seconds(visibility.value_or(kDefaultVisibilitySeconds));
  request.lease = detail;  // details include the lease token
  const auto& peer_gone = call.http.peer_gone;
  WaitRequest waiting{wait, {}, peer_gone};
  auto taken =
      CO_TRY(co_await call.service.get_anywhere(call.account(), call.target.queue, request, std::move(waiting)));
  charge_further(call, taken.size());
  if (wait > Duration::zero() && !taken.empty() && peer_gone && peer_gone()) {
    co_await give_back(call, std::exchange(taken, {}));
  }
  auto response = uncached(xml_response(200, render_taken(taken, detail)));
  if (detail) {
    std::string tokens;
    for (const auto& each : taken) tokens += (tokens.empty() ? "" : ",") + lease_token(each.message);
    response.set("x-ms-tidemark-lease", tokens);
  }
  co_return response;
}

Answer peek_messages(Call& call) {
  auto count = CO_TRY(call.number("numofmessages", 1, kMaxMessagesPerGet));
  auto detail = CO_TRY(wants_detail(call));
  const auto n = static_cast<std::uint32_t>(count.value_or(1));
  auto messages = CO_TRY(co_await call.service.call(calls::Peek{call.account(), call.target.queue, n}));
  charge_further(call, messages.size());
  co_return uncached(xml_response(200, render_peeked(messages, detail)));
}

namespace {

Answer move_message(Call& call, LeaseKey holder, MoveRequest request) {
  // Moving a message to its own poison queue needs the right to take it; moving it elsewhere needs more.
  if (request.to_queue != poison_queue_of(call.target.queue)) {
    CO_TRY(may_put_into(call, request.to_queue));
  }
  auto placed = CO_TRY(co_await call.service.call(calls::Move{std::move(holder), std::move(request)}));
  co_return updated(placed);
}

Answer finish_message(Call& call, LeaseKey holder, Duration delay) {
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxFinishBodyBytes));
  const auto queue = call.http.header(kFollowUpQueueHeader).value_or(call.target.queue);
  auto follow_ups = CO_TRY(read_follow_ups(body, std::string(queue), delay));
  for (const auto& next : follow_ups) {
    CO_TRY(may_put_into(call, next.queue));
  }
  for (const auto& next : follow_ups) call.charge_items({next.queue}, 1);
  auto placed = CO_TRY(co_await call.service.call(calls::Finish{std::move(holder), std::move(follow_ups)}));
  auto response = empty_response(204);
  std::string ids;
  for (const auto& message : placed) ids += (ids.empty() ? "" : ",") + message.id;
  response.set("x-ms-tidemark-follow-up-ids", ids);
  co_return response;
}

}  // namespace

Answer update_message(Call& call) {
  auto holder = CO_TRY(holder_in(call));
  auto visibility = CO_TRY(call.number("visibilitytimeout", 0, kMaxVisibilitySeconds));
  auto moving = CO_TRY(move_in(call));
  auto finishing = CO_TRY(wants_finish(call));
  const Duration span = std::chrono::seconds(visibility.value_or(0));
  if (moving && finishing) {
    co_return fail(protocol::invalid_header("x-ms-tidemark-finish", "true", "A message is either finished or moved."));
  }
  if (moving) {
    co_return co_await move_message(call, std::move(holder), std::move(*moving));
  }
  if (finishing) {
    co_return co_await finish_message(call, std::move(holder), span);
  }
  if (!visibility) co_return fail(protocol::missing_parameter("visibilitytimeout"));
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBodyBytes));
  std::optional<std::string> text;
  if (!body.empty()) {
    text = CO_TRY(read_message_text(body));
  }
  auto placed = CO_TRY(co_await call.service.call(calls::Update{std::move(holder), span, std::move(text)}));
  co_return updated(placed);
}

Answer delete_message(Call& call) {
  auto holder = CO_TRY(holder_in(call));
  CO_TRY(co_await call.service.call(calls::Complete{std::move(holder)}));
  co_return empty_response(204);
}

Answer clear_messages(Call& call) {
  CO_TRY(co_await call.service.call(calls::Clear{call.account(), call.target.queue}));
  co_return empty_response(204);
}

}  // namespace tidemark::queue_service::rest::operations
