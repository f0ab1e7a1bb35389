#include "queue_service/rest/message_extensions.h"

#include <charconv>

#include "common/base/encoding.h"
#include "common/base/xml_text.h"

namespace tidemark::queue_service::rest {
namespace {

constexpr std::size_t kMaxReasonBytes = 4096;

Result<std::optional<std::int64_t>> number_in(const QueueRequest& request, std::string_view name, std::int64_t min,
                                              std::int64_t max) {
  const auto text = request.http->header(name);
  if (!text) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (status != std::errc() || end != text->data() + text->size() || value < min || value > max) {
    return fail(
        invalid_header(name, *text, "A number from " + std::to_string(min) + " to " + std::to_string(max) + "."));
  }
  return std::optional(value);
}

Result<bool> flag_in(const QueueRequest& request, std::string_view name) {
  const auto text = request.http->header(name);
  if (!text || iequals_ascii(*text, "false")) return false;
  if (iequals_ascii(*text, "true")) return true;
  return fail(invalid_header(name, *text, "Either true or false."));
}

}  // namespace

Error invalid_header(std::string_view name, std::string_view value, std::string_view reason) {
  auto error = make_error(ErrorCode::kInvalidHeaderValue);
  error.fields.emplace_back("HeaderName", name);
  error.fields.emplace_back("HeaderValue", value);
  error.fields.emplace_back("Reason", reason);
  return error;
}

Result<Duration> wait_in(const QueueRequest& request) {
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kMaxReceiveWait).count();
  auto seconds = number_in(request, "x-ms-tidemark-wait", 0, longest);
  if (!seconds) return fail(std::move(seconds.error()));
  return Duration(std::chrono::seconds(seconds->value_or(0)));
}

Result<bool> wants_detail(const QueueRequest& request) { return flag_in(request, "x-ms-tidemark-detail"); }
Result<bool> wants_finish(const QueueRequest& request) { return flag_in(request, "x-ms-tidemark-finish"); }

Result<void> read_put_extensions(const QueueRequest& request, PutRequest& put) {
  if (const auto group = request.http->header("x-ms-tidemark-group")) {
    if (!check_key("group", *group, kMaxGroupBytes)) {
      return fail(invalid_header("x-ms-tidemark-group", *group, "Text of 1 to 128 bytes."));
    }
    put.group = *group;
  }
  if (const auto key = request.http->header("x-ms-tidemark-idempotency-key")) {
    if (!check_key("key", *key, kMaxIdempotencyKeyBytes)) {
      return fail(invalid_header("x-ms-tidemark-idempotency-key", *key, "Text of 1 to 256 bytes."));
    }
    put.idempotency_key = *key;
  }
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kMaxIdempotencyRetention).count();
  auto retention = TRY(number_in(request, "x-ms-tidemark-idempotency-retention", 1, longest));
  if (retention) put.retention = std::chrono::seconds(*retention);
  return {};
}

std::string lease_token(const Message& message) { return std::to_string(message.epoch); }

Result<LeaseKey> holder_in(const QueueRequest& request) {
  LeaseKey holder{request.account, request.queue, request.message_id};
  auto epoch = TRY(number_in(request, "x-ms-tidemark-lease", 1, INT64_MAX));
  holder.epoch = static_cast<std::uint64_t>(epoch.value_or(0));
  const auto receipt = request.parameter("popreceipt").value_or("");
  if (holder.epoch == 0 && receipt.empty()) return fail(missing_parameter("popreceipt"));
  holder.receipt = receipt;
  return holder;
}

Result<std::optional<MoveRequest>> move_in(const QueueRequest& request) {
  const auto to = request.http->header("x-ms-tidemark-move-to");
  if (!to) return std::optional<MoveRequest>();
  auto reset = TRY(flag_in(request, "x-ms-tidemark-reset-dequeue-count"));
  MoveRequest move;
  move.to_queue = *to;
  move.reset_dequeue_count = reset;
  move.reason = std::string(request.http->header("x-ms-tidemark-reason").value_or(""));
  if (move.reason->size() > kMaxReasonBytes || !is_xml_text(*move.reason)) {
    return fail(invalid_header("x-ms-tidemark-reason", "", "Text of at most 4096 bytes."));
  }
  return std::optional(std::move(move));
}

Result<Metadata> queue_options_in(const QueueRequest& request) {
  Metadata metadata;
  auto count = TRY(number_in(request, "x-ms-tidemark-max-dequeue-count", 0, kMaxMaxDequeueCount));
  if (count) metadata.emplace_back(kMaxDequeueCountName, *count == 0 ? "" : std::to_string(*count));
  auto paused = TRY(flag_in(request, "x-ms-tidemark-paused"));
  if (request.http->header("x-ms-tidemark-paused")) metadata.emplace_back(kPausedName, paused ? "true" : "");
  return metadata;
}

}  // namespace tidemark::queue_service::rest
