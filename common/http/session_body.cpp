#include "common/http/session_body.h"

#include <boost/asio/buffer.hpp>

namespace tidemark::http {
namespace {

// The limit of bytes of a chunk's size line or of the trailers that have arrived and cannot be consumed yet.
constexpr std::size_t kMaxUnconsumed = 16UL << 10;

std::unexpected<Error> truncated() {
  return fail(ErrorCode::kMalformedRequest, "The connection ended before the request body was complete.");
}

std::unexpected<Error> malformed_chunks(const std::string& why) {
  return fail(ErrorCode::kMalformedRequest, "The chunked request body is malformed: " + why + ".");
}

}  // namespace

SessionBody::SessionBody(Session& session, Parser& parser, bool expects_continue)
    : session_(session),
      context_(session.context_),
      parser_(parser),
      chunked_(parser.chunked()),
      expects_continue_(expects_continue) {
  if (const auto length = parser.content_length()) declared_ = *length;
  remaining_ = declared_.value_or(0);
  if (finished()) expects_continue_ = false;
}

Task<bool> SessionBody::send_continue() {
  if (!expects_continue_) co_return true;
  expects_continue_ = false;
  co_return co_await session_.write("HTTP/1.1 100 Continue\r\n\r\n", {});
}

Result<void> SessionBody::hold(std::size_t bytes) {
  auto& all = context_.body_memory;
  if (all.fetch_add(bytes) + bytes > context_.options.max_body_memory) {
    all.fetch_sub(bytes);
    return fail(error_for_log(ErrorCode::kServerBusy, "the bodies of requests take max_body_memory"));
  }
  held_ += bytes;
  return {};
}

Task<Result<std::string>> SessionBody::read_all(std::size_t limit) {
  auto too_large = [limit] {
    auto error = make_error(ErrorCode::kRequestBodyTooLarge);
    error.fields.emplace_back("MaxLimit", std::to_string(limit));
    return error;
  };
  if (declared_.value_or(0) > limit) co_return fail(too_large());
  CO_TRY(hold(declared_.value_or(0)));
  std::string whole;
  if (declared_ && *declared_ > 0) whole.reserve(*declared_);
  for (;;) {
    auto piece = CO_TRY(co_await read_some(limit + 1 - whole.size()));
    if (piece.empty()) co_return whole;
    if (!declared_) {
      CO_TRY(hold(piece.size()));
    }
    if (whole.empty()) {
      whole = std::move(piece);
    } else {
      whole += piece;
    }
    if (whole.size() > limit) co_return fail(too_large());
  }
}

Task<Result<std::string>> SessionBody::read_some(std::size_t limit) {
  if (finished() || limit == 0) co_return std::string();
  if (!co_await send_continue()) co_return truncated();
  auto piece = co_await (chunked_ ? read_chunked(limit) : read_sized(limit));
  if (piece) read_ += piece->size();
  co_return piece;
}

Task<Result<std::string>> SessionBody::read_sized(std::size_t limit) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(limit, remaining_));
  const auto unread = session_.input_.cdata();
  const auto buffered = std::min(wanted, unread.size());
  std::string piece(static_cast<const char*>(unread.data()), buffered);
  session_.input_.consume(buffered);
  remaining_ -= buffered;
  if (buffered == wanted) co_return piece;
  // The rest goes straight into the piece. It is bounded, so that a caller that asks for much gets the bytes that have
  // arrived.
  const auto size = std::min<std::size_t>(wanted, buffered + (1UL << 20));
  piece.resize_and_overwrite(size, [size](char*, std::size_t) { return size; });  // without filling it with zeros first
  std::size_t filled = buffered;
  while (filled < piece.size()) {
    session_.wait_for_peer();
    auto [error, received] =
        co_await session_.stream_.read_some(asio::buffer(piece.data() + filled, piece.size() - filled));
    session_.peer_moved(received);
    if (error) co_return truncated();
    filled += received;
    remaining_ -= received;
  }
  co_return piece;
}

Task<Result<std::string>> SessionBody::read_chunked(std::size_t limit) {
  std::string piece(std::min<std::size_t>(limit, 256UL << 10), '\0');
  auto& body = parser_.get().body();
  body.data = piece.data();
  body.size = piece.size();
  body.more = true;
  while (!parser_.is_done()) {
    boost::system::error_code error;
    const auto consumed = parser_.put(session_.input_.cdata(), error);
    session_.input_.consume(consumed);
    const bool full = error == boost::beast::http::error::need_buffer || body.size == 0;
    if (full) break;
    if (error && error != boost::beast::http::error::need_more) {
      co_return malformed_chunks(error.message());
    }
    if (parser_.is_done()) break;
    if (error == boost::beast::http::error::need_more || consumed == 0) {
      if (body.size < piece.size()) break;  // return the bytes so far
      if (session_.input_.size() > kMaxUnconsumed) {
        co_return malformed_chunks("a chunk's size or the trailers are too long");
      }
      if (!co_await session_.receive_more()) co_return truncated();
    }
  }
  piece.resize(piece.size() - body.size);
  co_return piece;
}

}  // namespace tidemark::http
