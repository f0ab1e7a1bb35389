#include "queue_service/client/queue_client.h"

#include "queue_service/client/queue_messages.h"

namespace tidemark::queue_service {
namespace {

constexpr Duration kDeadline = std::chrono::seconds(10);
constexpr Duration kCancelDeadline = std::chrono::seconds(1);
// A caller that dies while it waits is served all the same. The message it will never work on comes back after this
// time instead of a whole lease; a caller that lives makes the lease whole at once.
constexpr Duration kHandOver = std::chrono::seconds(1);

Error malformed() {
  auto error = make_error(ErrorCode::kInternalError);
  error.detail = "malformed reply of the queue service";
  return error;
}

/// A request is the account, the queue, and what the method needs.
class RequestWriter {
 public:
  RequestWriter(const std::string& account, const std::string& queue) : out_(bytes_) {
    out_.string(account);
    out_.string(queue);
  }
  RequestWriter(const RequestWriter&) = delete;
  RequestWriter& operator=(const RequestWriter&) = delete;
  ByteWriter& out() { return out_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  ByteWriter out_;
};

Result<void> expect_nothing(Result<std::string> reply) {
  if (!reply) return fail(std::move(reply.error()));
  return {};
}

Result<std::optional<Message>> expect_message(Result<std::string> reply) {
  if (!reply) return fail(std::move(reply.error()));
  ByteReader in(*reply);
  std::optional<Message> message;
  if (in.boolean()) message = wire::read_message(in);
  if (!in.finished()) return fail(malformed());
  return message;
}

Result<std::vector<Message>> expect_messages(Result<std::string> reply) {
  if (!reply) return fail(std::move(reply.error()));
  ByteReader in(*reply);
  std::vector<Message> messages;
  for (auto n = in.varint(); n > 0 && in.ok(); --n) messages.push_back(wire::read_message(in));
  if (!in.finished()) return fail(malformed());
  return messages;
}

std::optional<Message> only(std::vector<Message> messages) {
  return messages.empty() ? std::nullopt : std::optional(std::move(messages.front()));
}

void write_lease(RequestWriter& request, const Lease& lease) {
  request.out().string(lease.message_id);
  request.out().varint(lease.epoch);
}

}  // namespace

Task<Result<std::string>> QueueClient::call(std::string method, std::string payload, Duration deadline) {
  return transport_.call(std::move(method), std::move(payload), deadline);
}

Task<Result<void>> QueueClient::ensure_queue(std::string queue) {
  RequestWriter request(account_, queue);
  auto reply = co_await call("queue.ensure", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<std::vector<std::string>>> QueueClient::list_queues(std::string prefix) {
  std::vector<std::string> names;
  std::string from;
  do {
    RequestWriter request(account_, prefix);
    request.out().string(from);
    auto reply = CO_TRY(co_await call("queue.list_queues", request.take(), kDeadline));
    ByteReader in(reply);
    for (auto n = in.varint(); n > 0 && in.ok(); --n) names.emplace_back(in.string());
    from = in.string();
    if (!in.finished()) co_return fail(malformed());
  } while (!from.empty());
  co_return names;
}

Task<Result<std::string>> QueueClient::put(std::string queue, std::string text, Duration visibility_delay) {
  PutOptions options;
  options.delay = visibility_delay;
  co_return co_await put(std::move(queue), std::move(text), std::move(options));
}

Task<Result<std::string>> QueueClient::put(std::string queue, std::string text, PutOptions options) {
  RequestWriter request(account_, queue);
  request.out().string(text);
  wire::write(request.out(), options);
  co_return co_await call("queue.put", request.take(), kDeadline);
}

Task<Result<std::optional<Message>>> QueueClient::receive(std::string queue, Duration visibility, Duration wait) {
  auto visible = CO_TRY(co_await take(queue, visibility, Duration::zero(), {}, 1));
  if (!visible.empty() || wait <= Duration::zero()) co_return only(std::move(visible));
  std::string token;
  {
    MutexLock lock(mutex_);
    if (waits_ended_) co_return std::optional<Message>();
    if (!name_.empty()) token = *waits_.insert(name_ + "/" + std::to_string(++last_wait_)).first;
  }
  auto came = co_await take(queue, std::min(visibility, kHandOver), wait, token, 1);
  {
    MutexLock lock(mutex_);
    waits_.erase(token);
  }
  if (!came) co_return fail(std::move(came.error()));
  auto message = only(std::move(*came));
  if (!message) co_return message;
  Lease lease{queue, message->id, message->epoch};
  auto kept = co_await renew(std::move(lease), visibility, std::nullopt, 0);
  if (kept) co_return message;
  if (kept.error().code != ErrorCode::kLeaseLost) co_return fail(std::move(kept.error()));
  co_return std::optional<Message>();  // it came too late: another caller has the message by now
}

Task<Result<std::vector<Message>>> QueueClient::receive_some(std::string queue, Duration visibility,
                                                             std::uint32_t count) {
  return take(std::move(queue), visibility, Duration::zero(), {}, count);
}

Task<void> QueueClient::end_waits() {
  std::vector<std::string> tokens;
  {
    MutexLock lock(mutex_);
    waits_ended_ = true;
    tokens.assign(waits_.begin(), waits_.end());
  }
  for (const auto& token : tokens) {
    RequestWriter request(account_, std::string());
    request.out().string(token);
    auto reply = co_await call("queue.cancel_wait", request.take(), kCancelDeadline);
    if (!reply) co_return;  // then the waits cannot bring anything either
  }
}

Task<Result<std::vector<Message>>> QueueClient::take(std::string queue, Duration visibility, Duration wait,
                                                     std::string token, std::uint32_t count) {
  RequestWriter request(account_, queue);
  wire::write(request.out(), visibility);
  wire::write(request.out(), wait);
  request.out().string(token);
  request.out().varint(count);
  auto reply = co_await call("queue.receive", request.take(), wait + kDeadline);
  co_return expect_messages(std::move(reply));
}

Task<Result<void>> QueueClient::renew(Lease lease, Duration visibility, std::optional<std::string> annotation,
                                      std::uint64_t sequence) {
  RequestWriter request(account_, lease.queue);
  write_lease(request, lease);
  wire::write(request.out(), visibility);
  wire::write(request.out(), annotation);
  request.out().varint(sequence);
  auto reply = co_await call("queue.renew", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<std::vector<std::string>>> QueueClient::finish(Lease lease, std::vector<NextMessage> follow_ups) {
  RequestWriter request(account_, lease.queue);
  write_lease(request, lease);
  request.out().varint(follow_ups.size());
  for (const auto& next : follow_ups) {
    request.out().string(next.queue);
    request.out().string(next.text);
    wire::write(request.out(), next.options);
  }
  auto reply = CO_TRY(co_await call("queue.finish", request.take(), kDeadline));
  ByteReader in(reply);
  std::vector<std::string> ids;
  for (auto n = in.varint(); n > 0 && in.ok(); --n) ids.emplace_back(in.string());
  if (!in.finished()) co_return fail(malformed());
  co_return ids;
}

Task<Result<void>> QueueClient::complete(Lease lease) {
  RequestWriter request(account_, lease.queue);
  write_lease(request, lease);
  auto reply = co_await call("queue.complete", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<std::vector<bool>>> QueueClient::complete_all(std::string queue, std::vector<Lease> leases) {
  RequestWriter request(account_, queue);
  request.out().varint(leases.size());
  for (const auto& lease : leases) write_lease(request, lease);
  auto reply = CO_TRY(co_await call("queue.complete_all", request.take(), kDeadline));
  ByteReader in(reply);
  std::vector<bool> gone;
  for (std::size_t i = 0; i < leases.size() && in.ok(); ++i) gone.push_back(in.boolean());
  if (!in.finished()) co_return fail(malformed());
  co_return gone;
}

Task<Result<void>> QueueClient::release(Lease lease, Duration delay, std::string annotation, bool count_attempt) {
  RequestWriter request(account_, lease.queue);
  write_lease(request, lease);
  wire::write(request.out(), delay);
  request.out().string(annotation);
  request.out().boolean(count_attempt);
  auto reply = co_await call("queue.release", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<void>> QueueClient::move(Lease lease, std::string to_queue, std::string annotation) {
  RequestWriter request(account_, lease.queue);
  write_lease(request, lease);
  request.out().string(to_queue);
  request.out().string(annotation);
  auto reply = co_await call("queue.move", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<MessagePage>> QueueClient::list(std::string queue, std::uint32_t limit, std::string continuation) {
  RequestWriter request(account_, queue);
  request.out().varint(limit);
  request.out().string(continuation);
  auto reply = CO_TRY(co_await call("queue.list", request.take(), kDeadline));
  ByteReader in(reply);
  MessagePage page;
  for (auto n = in.varint(); n > 0 && in.ok(); --n) page.messages.push_back(wire::read_message(in));
  page.continuation = in.string();
  if (!in.finished()) co_return fail(malformed());
  co_return page;
}

Task<Result<std::optional<Message>>> QueueClient::find(std::string queue, std::string message_id) {
  RequestWriter request(account_, queue);
  request.out().string(message_id);
  auto reply = co_await call("queue.find", request.take(), kDeadline);
  co_return expect_message(std::move(reply));
}

Task<Result<void>> QueueClient::remove(std::string queue, std::string message_id) {
  RequestWriter request(account_, queue);
  request.out().string(message_id);
  auto reply = co_await call("queue.remove", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<void>> QueueClient::redrive(std::string queue, std::string message_id, std::string to_queue,
                                        std::optional<std::string> text, std::string annotation) {
  RequestWriter request(account_, queue);
  request.out().string(message_id);
  request.out().string(to_queue);
  wire::write(request.out(), text);
  request.out().string(annotation);
  auto reply = co_await call("queue.redrive", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

Task<Result<QueueFigures>> QueueClient::figures(std::string queue) {
  RequestWriter request(account_, queue);
  auto reply = CO_TRY(co_await call("queue.figures", request.take(), kDeadline));
  ByteReader in(reply);
  auto figures = wire::read_figures(in);
  if (!in.finished()) co_return fail(malformed());
  co_return figures;
}

Task<Result<QueueFiguresPage>> QueueClient::all_figures(std::uint32_t limit, std::string continuation) {
  RequestWriter request(account_, std::string());
  request.out().varint(limit);
  request.out().string(continuation);
  auto reply = CO_TRY(co_await call("queue.all_figures", request.take(), kDeadline));
  ByteReader in(reply);
  QueueFiguresPage page;
  for (auto n = in.varint(); n > 0 && in.ok(); --n) {
    std::string name(in.string());
    page.queues.emplace_back(std::move(name), wire::read_figures(in));
  }
  page.continuation = in.string();
  if (!in.finished()) co_return fail(malformed());
  co_return page;
}

Task<Result<void>> QueueClient::set_paused(std::string queue, bool paused) {
  RequestWriter request(account_, queue);
  request.out().boolean(paused);
  auto reply = co_await call("queue.set_paused", request.take(), kDeadline);
  co_return expect_nothing(std::move(reply));
}

}  // namespace tidemark::queue_service
