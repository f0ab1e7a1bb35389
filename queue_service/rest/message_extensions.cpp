#include "queue_service/rest/message_extensions.h"

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/xml_text.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::queue_service::rest {
namespace {

constexpr std::size_t kMaxReasonBytes = 4096;
constexpr std::string_view kLeaseHeader = "x-ms-tidemark-lease";

Result<std::optional<std::int64_t>> number_in(const Call& call, std::string_view name, std::int64_t min,
                                              std::int64_t max) {
  const auto text = call.http.header(name);
  if (!text) return std::optional<std::int64_t>();
  const auto value = parse_number(*text, min, max);
  if (!value) {
    return fail(protocol::invalid_header(name, *text,
                                         "A number from " + std::to_string(min) + " to " + std::to_string(max) + "."));
  }
  return value;
}

Result<bool> flag_in(const Call& call, std::string_view name) {
  const auto text = call.http.header(name);
  if (!text || iequals_ascii(*text, "false")) return false;
  if (iequals_ascii(*text, "true")) return true;
  return fail(protocol::invalid_header(name, *text, "Either true or false."));
}

}  // namespace

Result<Duration> wait_in(const Call& call) {
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kMaxReceiveWait).count();
  return Duration(std::chrono::seconds(TRY(number_in(call, "x-ms-tidemark-wait", 0, longest)).value_or(0)));
}

Result<bool> wants_detail(const Call& call) { return flag_in(call, "x-ms-tidemark-detail"); }
Result<bool> wants_finish(const Call& call) { return flag_in(call, "x-ms-tidemark-finish"); }

Result<void> read_put_extensions(const Call& call, PutRequest& put) {
  if (const auto group = call.http.header("x-ms-tidemark-group")) {
    if (!check_key("group", *group, kMaxGroupBytes)) {
      return fail(protocol::invalid_header("x-ms-tidemark-group", *group, "Text of 1 to 128 bytes."));
    }
    put.group = *group;
  }
  if (const auto key = call.http.header("x-ms-tidemark-idempotency-key")) {
    if (!check_key("key", *key, kMaxIdempotencyKeyBytes)) {
      return fail(protocol::invalid_header("x-ms-tidemark-idempotency-key", *key, "Text of 1 to 256 bytes."));
    }
    put.idempotency_key = *key;
  }
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kMaxIdempotencyRetention).count();
  auto retention = TRY(number_in(call, "x-ms-tidemark-idempotency-retention", 1, longest));
  if (retention) put.retention = std::chrono::seconds(*retention);
  return {};
}

std::string lease_token(const Message& message) {
  const auto part = part_in(message.part);
  return std::to_string(message.epoch) + (part ? "@" + part_text(*part) : "");
}

Result<LeaseKey> holder_in(const Call& call) {
  LeaseKey holder{call.account(), call.target.queue, call.target.message_id};
  if (const auto token = call.http.header(kLeaseHeader)) {
    const auto mark = token->find('@');
    const auto epoch = parse_number<std::int64_t>(token->substr(0, mark), 1, INT64_MAX);
    const auto part =
        mark == std::string_view::npos ? std::nullopt : part_from_text(holder.queue, token->substr(mark + 1));
    if (!epoch || (mark != std::string_view::npos && !part)) {
      return fail(protocol::invalid_header(kLeaseHeader, *token, "A lease token that the service gave."));
    }
    holder.epoch = static_cast<std::uint64_t>(*epoch);
    if (part) holder.queue = part_name(*part);
  }
  const auto receipt = call.parameter("popreceipt").value_or("");
  if (holder.epoch == 0 && receipt.empty()) return fail(protocol::missing_parameter("popreceipt"));
  holder.receipt = receipt;
  holder.queue = place_of_receipt(std::move(holder.queue), receipt);
  return holder;
}

Result<std::optional<MoveRequest>> move_in(const Call& call) {
  const auto to = call.http.header("x-ms-tidemark-move-to");
  if (!to) return std::optional<MoveRequest>();
  auto reset = TRY(flag_in(call, "x-ms-tidemark-reset-dequeue-count"));
  MoveRequest move;
  move.to_queue = *to;
  move.reset_dequeue_count = reset;
  move.reason = std::string(call.http.header("x-ms-tidemark-reason").value_or(""));
  if (move.reason->size() > kMaxReasonBytes || !is_xml_text(*move.reason)) {
    return fail(protocol::invalid_header("x-ms-tidemark-reason", "", "Text of at most 4096 bytes."));
  }
  return std::optional(std::move(move));
}

Result<Metadata> queue_options_in(const Call& call) {
  Metadata metadata;
  auto count = TRY(number_in(call, "x-ms-tidemark-max-dequeue-count", 0, kMaxMaxDequeueCount));
  if (count) metadata.emplace_back(kMaxDequeueCountName, *count == 0 ? "" : std::to_string(*count));
  if (auto parts = TRY(number_in(call, "x-ms-tidemark-parts", 1, kMaxParts))) {
    metadata.emplace_back(kPartsName, std::to_string(*parts));
  }
  auto paused = TRY(flag_in(call, "x-ms-tidemark-paused"));
  if (call.http.header("x-ms-tidemark-paused")) metadata.emplace_back(kPausedName, paused ? "true" : "");
  return metadata;
}

}  // namespace tidemark::queue_service::rest
