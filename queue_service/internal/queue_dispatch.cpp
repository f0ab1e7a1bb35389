#include "queue_service/internal/queue_dispatch.h"

#include "queue_service/internal/queue_messages.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service {
namespace {

using Reply = Result<std::string>;

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
  auto task = call.service.ensure_queue(call.account, call.queue);
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> list_queues(Call& call) {
  const auto from = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto page = call.service.list_queues(call.account, call.queue, from, kMaxQueuesPerPage);
  if (!page) co_return fail(std::move(page.error()));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page->queues.size());
  for (const auto& queue : page->queues) out.string(queue.name);
  out.string(page->next.value_or(std::string()));
  co_return bytes;
}

Task<Reply> put(Call& call) {
  PutRequest request;
  request.text = call.text();
  request.delay = std::clamp(wire::read_duration(call.in), Duration::zero(), kMaxVisibility);
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.put(call.account, call.queue, std::move(request));
  auto placed = co_await std::move(task);
  if (!placed) co_return fail(std::move(placed.error()));
  co_return std::move(placed->id);
}

Task<Reply> receive(Call& call) {
  const auto visibility =
      std::clamp(wire::read_duration(call.in), Duration(std::chrono::milliseconds(1)), kMaxVisibility);
  const auto wait = std::clamp(wire::read_duration(call.in), Duration::zero(), kMaxReceiveWait);
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.receive(call.account, call.queue, visibility, wait);
  auto message = co_await std::move(task);
  co_return one(message);
}

Task<Reply> renew(Call& call) {
  auto lease = call.lease();
  const auto visibility = wire::read_duration(call.in);
  auto annotation = wire::read_optional(call.in);
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.renew(std::move(lease), visibility, std::move(annotation));
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> complete(Call& call) {
  auto lease = call.lease();
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.complete(std::move(lease));
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> release(Call& call) {
  auto lease = call.lease();
  const auto delay = wire::read_duration(call.in);
  auto annotation = call.text();
  const bool count_attempt = call.in.boolean();
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.release(std::move(lease), delay, std::move(annotation), count_attempt);
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> move(Call& call) {
  auto lease = call.lease();
  auto to = call.text();
  auto annotation = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.move(std::move(lease), std::move(to), std::move(annotation));
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> list(Call& call) {
  const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.in.varint(), kMaxMessagesPerList));
  const auto continuation = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto page = call.service.list(call.account, call.queue, limit, continuation);
  if (!page) co_return fail(std::move(page.error()));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(page->messages.size());
  for (const auto& message : page->messages) wire::write(out, message);
  out.string(page->continuation);
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
  auto task = call.service.remove(call.account, call.queue, std::move(id));
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> redrive(Call& call) {
  auto id = call.text();
  auto to = call.text();
  auto text = wire::read_optional(call.in);
  auto annotation = call.text();
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.redrive(call.account, call.queue, std::move(id), std::move(to), std::move(text),
                                   std::move(annotation));
  auto done = co_await std::move(task);
  co_return nothing(std::move(done));
}

Task<Reply> figures(Call& call) {
  if (!call.in.finished()) co_return fail(malformed());
  auto task = call.service.get_properties(call.account, call.queue);
  auto properties = co_await std::move(task);
  if (!properties) co_return fail(std::move(properties.error()));
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(properties->messages);
  co_return bytes;
}

using Method = Task<Reply> (*)(Call&);
constexpr std::pair<std::string_view, Method> kMethods[] = {
    {"queue.ensure", ensure},   {"queue.list_queues", list_queues},
    {"queue.put", put},         {"queue.receive", receive},
    {"queue.renew", renew},     {"queue.complete", complete},
    {"queue.release", release}, {"queue.move", move},
    {"queue.list", list},       {"queue.find", find},
    {"queue.remove", remove},   {"queue.redrive", redrive},
    {"queue.figures", figures},
};

Task<Reply> serve(QueueService& service, std::string method, std::string payload) {
  for (const auto& [name, run] : kMethods) {
    if (method != name) continue;
    Call call(service, std::move(payload));
    auto task = run(call);
    co_return co_await std::move(task);
  }
  co_return fail(ErrorCode::kInvalidInput, "The queue service has no such method.");
}

}  // namespace

rpc::Dispatch make_queue_dispatch(QueueService& service) {
  return [&service](std::string method, std::string payload) {
    return serve(service, std::move(method), std::move(payload));
  };
}

}  // namespace tidemark::queue_service
