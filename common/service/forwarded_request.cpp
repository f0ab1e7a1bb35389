#include "common/service/forwarded_request.h"

#include <algorithm>

#include "common/http/text_body.h"
#include "common/rpc/wire.h"

namespace tidemark::service {
namespace {

/// A long poll takes 30 s at most.
constexpr Duration kDeadline = std::chrono::seconds(40);
/// For a piece: until it was written, or, for the last one, until everything is published.
constexpr Duration kPieceDeadline = std::chrono::seconds(120);
constexpr std::size_t kSentBytes = 512UL << 10;

template <class Message>
Result<Message> decoded(const std::string& bytes) {
  auto message = wire::decode<Message>(bytes);
  if (!message) return fail(error_for_log(ErrorCode::kInternalError, "malformed message of another process"));
  return std::move(*message);
}

bool goes_whole(const http::Request& request, std::size_t most_bytes) {
  const auto length = request.body->content_length();
  return length ? *length <= most_bytes : !request.header("Transfer-Encoding");
}

bool all_read(const http::BodyReader& body) { return body.content_length() == body.bytes_read(); }

}  // namespace

/// The body of an answer that the other process keeps.
class RequestForwarder::RestOfBody final : public http::BodySource {
 public:
  RestOfBody(RequestForwarder& forwarder, std::string address, std::string name, std::string begin)
      : forwarder_(forwarder), address_(std::move(address)), name_(std::move(name)), begin_(std::move(begin)) {}
  RestOfBody(const RestOfBody&) = delete;
  RestOfBody& operator=(const RestOfBody&) = delete;
  ~RestOfBody() override {
    if (!name_.empty()) forwarder_.drop(address_, name_);
  }

  Task<Result<std::string>> next() override {
    if (!begin_.empty()) co_return std::exchange(begin_, {});
    if (name_.empty()) co_return std::string();
    auto piece = co_await forwarder_.router_.ask(address_, std::string(forwarded::kNext),
                                                 wire::encode(forwarded::Next{name_, number_++}), kDeadline);
    if (!piece || piece->empty()) name_.clear();
    co_return piece;
  }

 private:
  RequestForwarder& forwarder_;
  const std::string address_;
  std::string name_;  // empty: nothing is left
  std::string begin_;
  std::uint64_t number_ = 0;
};

RequestForwarder::Answered RequestForwarder::forward(std::size_t shard, const http::Request& request) {
  if (CO_TRY(co_await router_.find(shard)).here) co_return std::optional<http::Response>();
  const bool whole = goes_whole(request, most_bytes_);
  co_return co_await (whole ? forward_whole(shard, request) : forward_in_pieces(shard, request));
}

RequestForwarder::Answered RequestForwarder::forward_whole(std::size_t shard, const http::Request& request) {
  auto to = forwarded::head_of(shard, router_.places().process(), request);
  to.body = CO_TRY(co_await request.body->read_all(most_bytes_));
  auto payload = wire::encode(to);
  std::string address;
  auto reply =
      CO_TRY(co_await router_.forward_to({shard, kDeadline}, std::string(forwarded::kWhole), payload, &address));
  // The shard has come to this process meanwhile, and the body has been read already.
  if (!reply) co_return std::optional(co_await serve_read(std::move(to)));
  co_return response_of(CO_TRY(decoded<forwarded::Response>(*reply)), address);
}

RequestForwarder::Answered RequestForwarder::forward_in_pieces(std::size_t shard, const http::Request& request) {
  std::string address;
  const auto reply = CO_TRY(co_await router_.forward_to(
      {shard, kPieceDeadline}, std::string(forwarded::kBegin),
      wire::encode(forwarded::head_of(shard, router_.places().process(), request)), &address));
  if (!reply) co_return std::optional<http::Response>();
  auto begun = CO_TRY(decoded<forwarded::Progress>(*reply));
  auto response = CO_TRY(co_await send_body(shard, address, std::move(begun), *request.body));
  co_return response_of(std::move(response), address);
}

Task<Result<forwarded::Response>> RequestForwarder::send_body(std::size_t shard, std::string address,
                                                              forwarded::Progress begun, http::BodyReader& body) {
  const auto upload = begun.upload;
  auto progress = std::move(begun);
  for (std::uint64_t number = 0; !progress.response; ++number) {
    auto bytes = co_await body.read_some(kSentBytes);
    if (!bytes) {
      drop(address, upload);
      co_return fail(bytes.error());
    }
    const bool last = bytes->empty() || all_read(body);
    auto taken = co_await send_piece(shard, address, {upload, number, last, std::move(*bytes)});
    if (!taken) {
      drop(address, upload);
      co_return fail(std::move(taken.error()));
    }
    progress = std::move(*taken);
  }
  co_return std::move(*progress.response);
}

Task<Result<forwarded::Progress>> RequestForwarder::send_piece(std::size_t shard, const std::string& address,
                                                               forwarded::Piece piece) {
  const auto reply =
      CO_TRY(co_await router_.ask(address, std::string(forwarded::kPiece), wire::encode(piece), kPieceDeadline, shard));
  co_return decoded<forwarded::Progress>(reply);
}

http::Response RequestForwarder::response_of(forwarded::Response from, const std::string& address) {
  const bool streamed = from.streamed;
  const auto length = from.length;
  auto rest = std::exchange(from.rest, {});
  auto begin = streamed ? std::exchange(from.body, {}) : std::string();
  auto response = forwarded::response_of(std::move(from));
  if (!streamed) return response;
  response.source = std::make_unique<RestOfBody>(*this, address, std::move(rest), std::move(begin));
  response.source_length = length;
  return response;
}

namespace {

Task<void> tell(shards::ShardRouter& router, std::string address, std::string payload) {
  const auto told =
      co_await router.ask(std::move(address), std::string(forwarded::kDrop), std::move(payload), kDeadline);
  static_cast<void>(told.has_value());  // if the message was lost, the other process forgets the body by itself
}

}  // namespace

void RequestForwarder::drop(const std::string& address, const std::string& name) {
  if (!ended_) spawn(executor_, tell(router_, address, wire::encode(forwarded::Drop{name})));
}

rpc::Dispatch RequestForwarder::beside(rpc::Dispatch store) {
  return [this, store = std::move(store)](const std::string& method, std::string payload) {
    return method.starts_with("http.") ? answer(method, std::move(payload)) : store(method, std::move(payload));
  };
}

Task<Result<std::string>> RequestForwarder::answer(std::string method, std::string payload) {
  if (method == forwarded::kWhole) co_return co_await answer_whole(std::move(payload));
  if (method == forwarded::kBegin) {
    co_return wire::encode(CO_TRY(co_await bodies_.begin(CO_TRY(decoded<forwarded::Request>(payload)))));
  }
  if (method == forwarded::kPiece) {
    co_return wire::encode(CO_TRY(co_await bodies_.take(CO_TRY(decoded<forwarded::Piece>(payload)))));
  }
  if (method == forwarded::kNext) co_return co_await bodies_.next(CO_TRY(decoded<forwarded::Next>(payload)));
  if (method != forwarded::kDrop) co_return fail(ErrorCode::kNotImplemented);
  bodies_.drop(CO_TRY(decoded<forwarded::Drop>(payload)).name);
  co_return std::string();
}

Task<Result<std::string>> RequestForwarder::answer_whole(std::string payload) {
  auto from = CO_TRY(decoded<forwarded::Request>(std::exchange(payload, {})));
  auto sender = from.sender;
  co_return wire::encode(CO_TRY(co_await bodies_.keep(co_await serve_read(std::move(from)), std::move(sender))));
}

Task<http::Response> RequestForwarder::serve_read(forwarded::Request from) {
  http::TextBody body(std::exchange(from.body, {}), from.length);
  auto request = forwarded::request_of(from, body);
  co_return co_await serve_(request);
}

}  // namespace tidemark::service
