#include "queue_service/internal/queue_dispatch.h"

#include "queue_service/client/queue_messages.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service {
namespace {

using Reply = Result<std::string>;
constexpr std::uint64_t kMaxQueueFiguresPerPage = 1000;
constexpr std::uint64_t kMaxCompletions = 100;

/// One request being served. Owns the payload, so that the reader's views stay valid across suspensions.
struct Call {
  QueueService& service;
  std::string payload;
  ByteReader in{payload};
  std::string account{in.string()};
  std::string queue{in.string()};

  Call(QueueService& s, std::string p) : service(s), payload(std::move(p)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  std::string text() { return std::string(in.string()); }
  LeaseKey lease() {
    auto id = text();
    return {account, queue, std::move(id), in.varint()};
  }
};

Error malformed() { return make_error(ErrorCode::kInvalidInput, "The internal request is malformed."); }

Reply nothing(Result<void> done) {
  if (!done) return fail(std::move(done.error()));
  return std::string();
}

Reply one(const Result<std::optional<Message>>& message) {
  if (!message) return fail(message.error());
  std::string bytes;
  ByteWriter out(bytes);
  out.boolean(message->has_value());
  if (*message) wire::write(out, **message);
  return bytes;
}

Task<Reply> ensure(Call& call) {
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.ensure_queue(call.account, call.queue);
  co_return nothing(std::move(done));
}

Task<Reply> list_queues(Call& call) {
  const auto from = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto page = CO_TRY(call.service.list_queues(call.account, call.queue, from, kMaxQueuesPerPage));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page.queues.size());
  for (const auto& queue : page.queues) out.string(queue.name);
  out.string(page.next.value_or(std::string()));
  co_return bytes;
}

PutRequest to_request(std::string text, PutOptions options) {
  PutRequest request;
  request.text = std::move(text);
  request.delay = options.delay;
  request.time_to_live = options.time_to_live;
  request.group = std::move(options.group);
  request.idempotency_key = std::move(options.idempotency_key);
  request.retention = options.retention;
  return request;
}

Task<Reply> put(Call& call) {
  auto text = call.text();
  auto request = to_request(std::move(text), wire::read_put_options(call.in));
  if (!call.in.finished()) co_return fail(malformed());
  auto placed = CO_TRY(co_await call.service.put(call.account, call.queue, std::move(request)));
  co_return std::move(placed.id);
}

Task<Reply> receive(Call& call) {
  TakeRequest request;
  request.visibility = std::clamp(wire::read_duration(call.in), Duration(std::chrono::milliseconds(1)), kMaxVisibility);
  WaitRequest wait;
  wait.span = std::clamp(wire::read_duration(call.in), Duration::zero(), kMaxReceiveWait);
  wait.token = call.text();
  request.count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(call.in.varint(), 1, kMaxMessagesPerGet));
  if (!call.in.finished()) co_return fail(malformed());
  // Who waits may be gone by the time a message comes.
  request.offer = wait.span > Duration::zero();
  request.lease = true;
  auto taken = CO_TRY(co_await call.service.get(call.account, call.queue, request, std::move(wait)));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(taken.size());
  for (const auto& each : taken) wire::write(out, each.message);
  co_return bytes;
}

Task<Reply> cancel_wait(Call& call) {
  const auto token = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  call.service.cancel_wait(token);
  co_return std::string();
}

Task<Reply> renew(Call& call) {
  auto lease = call.lease();
  const auto visibility = wire::read_duration(call.in);
  auto annotation = wire::read_optional(call.in);
  const auto sequence = call.in.varint();
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.renew(std::move(lease), visibility, std::move(annotation), sequence);
  co_return nothing(std::move(done));
}

Task<Reply> finish(Call& call) {
  auto lease = call.lease();
  std::vector<FollowUp> follow_ups;
  for (auto n = call.in.varint(); n > 0 && call.in.ok() && follow_ups.size() <= kMaxFollowUps; --n) {
    FollowUp next;
    next.queue = call.text();
    auto text = call.text();
    next.message = to_request(std::move(text), wire::read_put_options(call.in));
    follow_ups.push_back(std::move(next));
  }
  if (!call.in.finished()) co_return fail(malformed());
  auto placed = CO_TRY(co_await call.service.finish(std::move(lease), std::move(follow_ups)));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(placed.size());
  for (const auto& message : placed) out.string(message.id);
  co_return bytes;
}

Task<Reply> complete(Call& call) {
  auto lease = call.lease();
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.erase(std::move(lease));
  co_return nothing(std::move(done));
}

Task<Reply> complete_all(Call& call) {
  const auto count = call.in.varint();
  if (count > kMaxCompletions) co_return fail(malformed());
  std::vector<LeaseKey> leases;
  for (std::uint64_t i = 0; i < count; ++i) {
    leases.push_back(call.lease());
    // Epoch 0 would stand for a pop receipt.
    if (leases.back().epoch == 0) co_return fail(malformed());
  }
  if (!call.in.finished()) co_return fail(malformed());
  auto done = CO_TRY(co_await call.service.erase_all(call.account, call.queue, std::move(leases)));
  std::string bytes;
  ByteWriter out(bytes);
  for (const bool gone : done) out.boolean(gone);
  co_return bytes;
}

Task<Reply> release(Call& call) {
  auto lease = call.lease();
  const auto delay = wire::read_duration(call.in);
  auto annotation = call.text();
  const bool count_attempt = call.in.boolean();
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.release(std::move(lease), delay, std::move(annotation), count_attempt);
  co_return nothing(std::move(done));
}

Task<Reply> move(Call& call) {
  auto lease = call.lease();
  MoveRequest request;
  request.to_queue = call.text();
  request.annotation = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  CO_TRY(co_await call.service.move(std::move(lease), std::move(request)));
  co_return std::string();
}

Task<Reply> list(Call& call) {
  const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.in.varint(), kMaxMessagesPerList));
  const auto continuation = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto page = CO_TRY(call.service.list(call.account, call.queue, limit, continuation));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page.messages.size());
  for (const auto& message : page.messages) wire::write(out, message);
  out.string(page.continuation);
  co_return bytes;
}

Task<Reply> find(Call& call) {
  const auto id = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  co_return one(call.service.find(call.account, call.queue, id));
}

Task<Reply> remove(Call& call) {
  auto id = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.remove(call.account, call.queue, std::move(id));
  co_return nothing(std::move(done));
}

Task<Reply> redrive(Call& call) {
  auto id = call.text();
  MoveRequest request;
  request.to_queue = call.text();
  request.text = wire::read_optional(call.in);
  request.annotation = call.text();
  request.reset_dequeue_count = true;
  if (!call.in.finished()) co_return fail(malformed());
  auto done = co_await call.service.redrive(call.account, call.queue, std::move(id), std::move(request));
  co_return nothing(std::move(done));
}

Task<Reply> figures(Call& call) {
  if (!call.in.finished()) co_return fail(malformed());
  auto figures = CO_TRY(co_await call.service.figures(call.account, call.queue));
  std::string bytes;
  ByteWriter out(bytes);
  wire::write(out, figures);
  co_return bytes;
}

Task<Reply> all_figures(Call& call) {
  const auto limit = std::clamp<std::uint64_t>(call.in.varint(), 1, kMaxQueueFiguresPerPage);
  const auto name = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  // A continuation is a queue's name: it goes through JSON and people's hands, which a key of the store would not.
  const auto from = name.empty() ? std::string() : keys::queue(call.account, name);
  auto page = CO_TRY(call.service.all_figures(call.account, from, static_cast<std::uint32_t>(limit)));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page.queues.size());
  for (const auto& item : page.queues) {
    out.string(item.queue);
    wire::write(out, item.figures);
  }
  const auto next = page.next.empty() ? std::nullopt : keys::account_and_queue(page.next);
  out.string(next ? next->second : std::string());
  co_return bytes;
}

Task<Reply> set_paused(Call& call) {
  const bool paused = call.in.boolean();
  if (!call.in.finished()) co_return fail(malformed());
  Metadata change{{std::string(kPausedName), paused ? "true" : ""}};
  auto done = co_await call.service.patch_metadata(call.account, call.queue, std::move(change));
  co_return nothing(std::move(done));
}

using Method = Task<Reply> (*)(Call&);
constexpr std::pair<std::string_view, Method> kMethods[] = {
    {"queue.ensure", ensure},
    {"queue.list_queues", list_queues},
    {"queue.put", put},
    {"queue.receive", receive},
    {"queue.cancel_wait", cancel_wait},
    {"queue.renew", renew},
    {"queue.complete", complete},
    {"queue.complete_all", complete_all},
    {"queue.finish", finish},
    {"queue.release", release},
    {"queue.move", move},
    {"queue.list", list},
    {"queue.find", find},
    {"queue.remove", remove},
    {"queue.redrive", redrive},
    {"queue.figures", figures},
    {"queue.all_figures", all_figures},
    {"queue.set_paused", set_paused},
};

Task<Reply> serve(QueueService& service, std::string method, std::string payload) {
  for (const auto& [name, run] : kMethods) {
    if (method != name) continue;
    Call call(service, std::move(payload));
    co_return co_await run(call);
  }
  co_return fail(ErrorCode::kInvalidInput, "The queue service has no such method.");
}

Task<void> give_back(QueueService& service, std::string request, std::string reply) {
  ByteReader in(request);
  const std::string account(in.string());
  const std::string queue(in.string());
  ByteReader out(reply);
  std::vector<Message> messages;
  for (auto n = out.varint(); n > 0 && out.ok(); --n) messages.push_back(wire::read_message(out));
  if (!out.finished() || !in.ok()) co_return;
  for (const auto& message : messages) {
    LeaseKey lease{account, queue, message.id, message.epoch};
    auto done = co_await service.release(std::move(lease), Duration::zero(), std::nullopt, false);
    static_cast<void>(done.has_value());  // if not, the lease expires
  }
}

}  // namespace

rpc::UndeliveredHook make_undelivered_hook(QueueService& service) {
  return {"queue.receive", [&service](std::string request, std::string reply) {
            return give_back(service, std::move(request), std::move(reply));
          }};
}

rpc::Dispatch make_queue_dispatch(QueueService& service) {
  return [&service](std::string method, std::string payload) {
    return serve(service, std::move(method), std::move(payload));
  };
}

}  // namespace tidemark::queue_service
