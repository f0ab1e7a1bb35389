#include "common/http/session.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <charconv>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/write.hpp>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "common/http/session_body.h"

namespace tidemark::http {
namespace {

const FailPoint kRequestRead("http.request", "after");  // its head
const FailStep kReplyStep("http.reply");

constexpr std::size_t kReadSize = 8192;
constexpr std::size_t kMaxDrainedBytes = 16UL << 20;  // of a body that the handler did not want

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

void fill_request(Request& request, const Parser& parser) {
  const auto& message = parser.get();
  request.method = view(message.method_string());
  request.target = view(message.target());
  const auto question = request.target.find('?');
  request.path = request.target.substr(0, question);
  request.query = question == std::string_view::npos ? std::string_view() : request.target.substr(question + 1);
  request.headers.reserve(16);
  for (const auto& field : message) request.headers.emplace_back(view(field.name_string()), view(field.value()));
}

Error parse_failure(const boost::system::error_code& error) {
  if (error == boost::beast::http::error::header_limit) return make_error(ErrorCode::kHeaderTooLarge);
  return make_error(ErrorCode::kMalformedRequest, "The request is not valid HTTP: " + error.message() + ".");
}

Task<Response> call_handler(ServerContext& context, Request& request) {
  try {
    auto serving = context.handler(request);
    auto response = co_await std::move(serving);
    co_return response;
  } catch (const std::exception& e) {
    spdlog::error("handler failed request_id={} method={} path={} what=\"{}\"", request.request_id, request.method,
                  request.path, e.what());
  }
  co_return context.render_error(make_error(ErrorCode::kInternalError), request.request_id);
}

// What the handler left unread would be taken for the next request. False: too much, close instead.
Task<bool> drain(SessionBody& body) {
  if (body.unwanted()) co_return false;
  for (std::size_t drained = 0; !body.finished();) {
    auto reading = body.read_some(64UL << 10);
    auto piece = co_await std::move(reading);
    if (!piece || (drained += piece->size()) > kMaxDrainedBytes) co_return false;
  }
  co_return true;
}

}  // namespace

Task<void> Session::run() {
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  const auto endpoint = socket_.remote_endpoint(ignored);
  if (!ignored) remote_ = endpoint.address().to_string();
  for (bool more = true; more && !context_.stopping.load(std::memory_order_relaxed);) {
    auto serving = serve_one();
    more = co_await std::move(serving);
  }
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

void Session::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

bool Session::peer_gone() {
  if (used_ < input_.size()) return false;
  char next = 0;
  const auto got = ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

Task<bool> Session::receive_more() {
  if (used_ == input_.size()) {
    input_.clear();
    used_ = 0;
  } else if (used_ > kReadSize) {
    input_.erase(0, used_);
    used_ = 0;
  }
  const auto filled = input_.size();
  input_.resize(filled + kReadSize);
  auto receiving =
      socket_.async_read_some(asio::buffer(input_.data() + filled, kReadSize), asio::as_tuple(asio::use_awaitable));
  auto [error, received] = co_await std::move(receiving);
  input_.resize(filled + received);
  co_return !error && received > 0;
}

Task<bool> Session::write(std::string_view first, std::string_view second) {
  set_deadline(context_.options.body_timeout);
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(first.data(), first.size()),
                                                  asio::buffer(second.data(), second.size())};
  auto writing = asio::async_write(socket_, buffers, asio::as_tuple(asio::use_awaitable));
  auto [error, written] = co_await std::move(writing);
  co_return !error;
}

Task<bool> Session::serve_one() {
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(context_.options.max_header_bytes));
  parser.body_limit(boost::none);
  parser.eager(false);
  idle_ = used_ == input_.size();
  set_deadline(idle_ ? context_.options.idle_timeout : context_.options.header_timeout);
  while (!parser.is_header_done()) {
    if (used_ < input_.size()) {
      boost::system::error_code error;
      used_ += parser.put(asio::buffer(input_.data() + used_, input_.size() - used_), error);
      if (error && error != boost::beast::http::error::need_more) {
        auto refusal = context_.render_error(parse_failure(error), context_.random->guid());
        auto responding = respond(Request{}, std::move(refusal), false);
        co_await std::move(responding);
        co_return false;
      }
      if (parser.is_header_done()) break;
    }
    auto receiving = receive_more();
    const bool received = co_await std::move(receiving);
    if (!received) co_return false;
    if (idle_) {
      idle_ = false;
      set_deadline(context_.options.header_timeout);
    }
  }
  idle_ = false;
  Request request;
  fill_request(request, parser);
  request.remote_address = remote_;
  request.request_id = context_.random->guid();
  const auto expect = request.header("expect");
  SessionBody body(*this, parser, expect && iequals_ascii(*expect, "100-continue"));
  request.body = &body;
  request.peer_gone = [this] { return peer_gone(); };

  // The handler has bounds of its own (long polls wait); the connection's deadline is for the peer.
  deadline_ = SteadyTime::max();
  kRequestRead.reach();
  auto calling = call_handler(context_, request);
  auto response = co_await std::move(calling);
  // Answer first: a client that is refused early learns it even while it still sends.
  const bool keep_alive = parser.keep_alive() && !response.close && !body.unwanted() && !context_.stopping.load();
  auto responding = respond(request, std::move(response), keep_alive);
  const bool sent = co_await std::move(responding);
  if (!sent) co_return false;
  auto draining = drain(body);
  const bool drained = co_await std::move(draining);
  co_return drained&& keep_alive;
}

Task<bool> Session::respond(const Request& request, Response response, bool keep_alive) {
  const auto head = render_head(&request, response, keep_alive, context_.options.server_name);
  const bool bodyless = request.method == "HEAD" || response.status == 204 || response.status == 304;
  if (bodyless) response.body.clear();
  kReplyStep.before.reach();
  auto writing = write(head, response.source ? std::string_view() : std::string_view(response.body));
  const bool written = co_await std::move(writing);
  kReplyStep.after.reach();
  if (!written || bodyless || !response.source) co_return written;
  auto streaming = stream_body(*response.source, response.source_length);
  co_return co_await std::move(streaming);
}

Task<bool> Session::stream_body(BodySource& source, std::optional<std::uint64_t> length) {
  std::uint64_t sent = 0;
  for (;;) {
    auto producing = source.next();
    auto piece = co_await std::move(producing);
    if (!piece) {
      spdlog::warn("response body aborted code={} detail=\"{}\"", azure_name_of(piece.error().code),
                   piece.error().detail);
      co_return false;
    }
    if (length && sent + piece->size() > *length) co_return false;
    if (piece->empty()) break;
    sent += piece->size();
    std::string prefix;
    if (!length) {
      char digits[20];
      const auto [end, ec] = std::to_chars(digits, digits + sizeof digits, piece->size(), 16);
      prefix.assign(digits, end).append("\r\n");
      piece->append("\r\n");
    }
    auto writing = write(prefix, *piece);
    const bool written = co_await std::move(writing);
    if (!written) co_return false;
  }
  if (length) co_return sent == *length;
  auto finishing = write("0\r\n\r\n", {});
  co_return co_await std::move(finishing);
}

}  // namespace tidemark::http
