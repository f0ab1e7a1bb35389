// Operations on messages.
#include "queue_service/rest/queue_operations.h"
#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest::operations {
namespace {

constexpr std::int64_t kMaxVisibilitySeconds = 604800;
constexpr std::int64_t kDefaultVisibilitySeconds = 30;
constexpr std::int64_t kDefaultTimeToLiveSeconds = 604800;
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
  const auto longest = is_before(request.version, kFirstVersionWithLongLife) ? kDefaultTimeToLiveSeconds : INT32_MAX;
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

Result<std::string> required(const QueueRequest& request, std::string_view name) {
  const auto value = request.parameter(name);
  if (!value || value->empty()) return fail(missing_parameter(name));
  return std::string(*value);
}

}  // namespace

Task<Answer> put_message(OperationContext context) {
  auto put = put_parameters(context.request);
  if (!put) co_return fail(std::move(put.error()));
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

Task<Answer> get_messages(OperationContext context) {
  auto count = context.request.number("numofmessages", 1, kMaxMessagesPerGet);
  if (!count) co_return fail(std::move(count.error()));
  auto visibility = context.request.number("visibilitytimeout", 1, kMaxVisibilitySeconds);
  if (!visibility) co_return fail(std::move(visibility.error()));
  const auto n = static_cast<std::uint32_t>(count->value_or(1));
  const Duration span = std::chrono::seconds(visibility->value_or(kDefaultVisibilitySeconds));
  auto task = context.service.get(context.request.account, context.request.queue, n, span);
  auto taken = co_await std::move(task);
  if (!taken) co_return fail(std::move(taken.error()));
  co_return xml(200, render_taken(*taken));
}

Task<Answer> peek_messages(OperationContext context) {
  auto count = context.request.number("numofmessages", 1, kMaxMessagesPerGet);
  if (!count) co_return fail(std::move(count.error()));
  const auto n = static_cast<std::uint32_t>(count->value_or(1));
  auto task = context.service.peek(context.request.account, context.request.queue, n);
  auto messages = co_await std::move(task);
  if (!messages) co_return fail(std::move(messages.error()));
  co_return xml(200, render_peeked(*messages));
}

Task<Answer> update_message(OperationContext context) {
  auto receipt = required(context.request, "popreceipt");
  if (!receipt) co_return fail(std::move(receipt.error()));
  auto visibility = context.request.number("visibilitytimeout", 0, kMaxVisibilitySeconds);
  if (!visibility) co_return fail(std::move(visibility.error()));
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
  const Duration span = std::chrono::seconds(**visibility);
  auto task = context.service.update(context.request.account, context.request.queue, context.request.message_id,
                                     std::move(*receipt), span, std::move(text));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  auto response = no_content();
  response.set("x-ms-popreceipt", placed->receipt);
  response.set("x-ms-time-next-visible", to_rfc1123(placed->next_visible));
  co_return response;
}

Task<Answer> delete_message(OperationContext context) {
  auto receipt = required(context.request, "popreceipt");
  if (!receipt) co_return fail(std::move(receipt.error()));
  auto task = context.service.erase(context.request.account, context.request.queue, context.request.message_id,
                                    std::move(*receipt));
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
