#include "common/http/session.h"

#include <sys/poll.h>
#include <sys/socket.h>

#include <array>
#include <cctype>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "common/base/log.h"
#include "common/http/host_name.h"
#include "common/http/session_body.h"

namespace tidemark::http {
namespace {

const FailPoint kRequestRead("http.request", "after");  // the request's head
const FailStep kReplyStep("http.reply");

constexpr std::size_t kMaxDrainedBytes = 16UL << 20;  // of a body that the handler did not read
// The limit after the last answer, for a peer that still sends.
constexpr std::size_t kMostAfterHangUp = 1UL << 20;
constexpr auto kLongestHangUp = std::chrono::seconds(2);

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Reads the headers traceparent and tracestate. Two parents count as none.
TraceContext trace_of(const Request& request) {
  constexpr std::string_view kParent = "traceparent";
  constexpr std::string_view kState = "tracestate";
  std::string_view parent, state;
  for (const auto& [name, value] : request.headers) {
    if (iequals_ascii(name, kParent)) {
      if (!parent.empty()) return {};
      parent = value;
    } else if (iequals_ascii(name, kState)) {
      state = value;
    }
  }
  return parent.empty() ? TraceContext() : parse_trace(parent, state).value_or(TraceContext());
}

void fill_request(Request& request, const Parser& parser) {
  const auto& message = parser.get();
  request.method = view(message.method_string());
  request.target = view(message.target());
  const auto question = request.target.find('?');
  request.path = request.target.substr(0, question);
  request.query = question == std::string_view::npos ? std::string_view() : request.target.substr(question + 1);
  request.headers.clear();
  request.headers.reserve(16);
  for (const auto& field : message) request.headers.emplace_back(view(field.name_string()), view(field.value()));
  request.trace = trace_of(request);
  request.operation = {};
  request.waited = {};
}

Error parse_failure(const boost::system::error_code& error) {
  if (error == boost::beast::http::error::header_limit) return make_error(ErrorCode::kHeaderTooLarge);
  return make_error(ErrorCode::kMalformedRequest, "The request is not valid HTTP: " + error.message() + ".");
}

// Finds errors that Beast lets pass, and that a proxy in front may read in another way: where the body ends (RFC 9112,
// 6.3), and the host to which the request is addressed.
std::optional<Error> ambiguity(const Parser& parser) {
  using enum boost::beast::http::field;
  const auto& fields = parser.get();
  const auto coding = fields.find(transfer_encoding);
  const bool coded = coding != fields.end();
  if (coded && (!iequals_ascii(coding->value(), "chunked") || fields.count(transfer_encoding) > 1)) {
    return make_error(ErrorCode::kMalformedRequest, "The only transfer coding that is understood is chunked.");
  }
  if (fields.count(host) > 1) return make_error(ErrorCode::kMalformedRequest, "There is more than one Host header.");
  return std::nullopt;
}

// A target that is a whole URI names the host, regardless of the Host header (RFC 9112, 3.2.2). The URI's scheme does
// not tell whether the connection is HTTPS; the connection itself does. False: the URI has no host, or has user
// information.
bool to_origin_form(Parser& parser) {
  auto& head = parser.get();
  if (head.target().starts_with('/')) return true;
  const std::string target(view(head.target()));
  const auto scheme_end = target.find("://");
  const auto scheme = std::string_view(target).substr(0, scheme_end);
  if (scheme_end == std::string::npos || (!iequals_ascii(scheme, "http") && !iequals_ascii(scheme, "https")))
    return true;
  const auto host_begin = scheme_end + 3;
  const auto host_end = std::min(target.find_first_of("/?#", host_begin), target.size());
  const auto host = std::string_view(target).substr(host_begin, host_end - host_begin);
  if (host_name(host).empty() || host.find('@') != std::string_view::npos) return false;
  const auto rest = target.substr(host_end);
  head.set(boost::beast::http::field::host, host);
  head.target(rest.starts_with('/') ? rest : "/" + rest);
  return true;
}

// True when the head is complete or malformed, false when more must come.
bool parse_head(Parser& parser, boost::beast::flat_buffer& input, boost::system::error_code& malformed) {
  if (input.size() == 0) return false;
  input.consume(parser.put(input.cdata(), malformed));
  if (malformed == boost::beast::http::error::need_more) malformed = {};
  return malformed || parser.is_header_done();
}

Response after_exception(const ServerContext& context, const Request& request, const std::exception& thrown) {
  log_error("handler failed request_id={} method={} path={} what=\"{}\"", request.request_id, request.method,
            request.path, thrown.what());
  return context.render_error(make_error(ErrorCode::kInternalError), request.request_id);
}

// TLS begins with the type of a record, which is not a letter.
bool begins_like_http(int descriptor) {
  unsigned char first = 0;
  return ::recv(descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && std::isalpha(first) != 0;
}

// Reads the rest of the body, which would otherwise be taken for the next request. False: it is too long, so the
// connection must be closed.
Task<bool> drain(SessionBody& body) {
  if (body.unwanted()) co_return false;
  for (std::size_t drained = 0; !body.finished();) {
    auto piece = co_await body.read_some(64UL << 10);
    if (!piece) co_return false;
    drained += piece->size();
    if (drained > kMaxDrainedBytes) co_return false;
  }
  co_return true;
}

}  // namespace

Task<void> Session::run() {
  boost::system::error_code ignored;
  auto& socket = stream_.socket();
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.non_blocking(true, ignored);
  const auto endpoint = socket.remote_endpoint(ignored);
  if (!ignored) request_.remote_address = endpoint.address().to_string();
  request_.peer_gone = [this] { return peer_gone(); };
  // Most heads fit. The memory belongs to this frame and not to the session, since at shutdown frames end after the
  // sessions.
  std::array<std::byte, 2048> head_room;
  std::pmr::monotonic_buffer_resource head_memory(head_room.data(), head_room.size());
  bool more = context_.options.certificate == nullptr || co_await secure();
  while (more && !context_.stopping.load(std::memory_order_relaxed)) {
    try {
      more = co_await serve_one(head_memory);
    } catch (const std::exception& thrown) {
      log_error("connection ended request_id={} what=\"{}\"", request_.request_id, thrown.what());
      more = false;
    }
  }
  if (stream_.tls()) {
    set_deadline(kLongestHangUp);
    co_await stream_.end_tls();
  }
  socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket.close(ignored);
}

Task<bool> Session::secure() {
  set_deadline(context_.options.handshake_timeout);
  auto& socket = stream_.socket();
  const auto [unreadable] = co_await socket.async_wait(Socket::wait_read, asio::as_tuple(asio::use_awaitable));
  if (unreadable) co_return false;
  if (begins_like_http(socket.native_handle())) {
    ++context_.refused_handshakes;
    co_await refuse(make_error(ErrorCode::kAccountRequiresHttps, "This port speaks HTTPS: use an https:// URL."));
    co_await hang_up();
    co_return false;
  }
  const auto error = co_await stream_.begin_tls(*context_.options.certificate);
  if (!error) co_return true;
  ++context_.refused_handshakes;
  log_debug("TLS handshake failed address={} reason=\"{}\"", request_.remote_address, error.message());
  co_return false;
}

void Session::close() {
  idle_ = false;
  boost::system::error_code ignored;
  stream_.socket().close(ignored);
}

bool Session::peer_gone() {
  if (input_.size() > 0) return false;
  const auto descriptor = stream_.socket().native_handle();
  if (stream_.tls()) {
    pollfd peer{descriptor, POLLRDHUP, 0};
    return ::poll(&peer, 1, 0) > 0;
  }
  char next = 0;
  const auto got = ::recv(descriptor, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

Task<bool> Session::receive_more() {
  wait_for_peer();
  auto [error, received] = co_await stream_.read_some(input_.prepare(kReadBytes));
  peer_moved(received);
  input_.commit(received);
  co_return !error && received > 0;
}

Task<void> Session::hang_up() {
  boost::system::error_code ignored;
  auto& socket = stream_.socket();
  set_deadline(kLongestHangUp);
  if (stream_.tls()) co_await stream_.end_tls();
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  for (std::size_t discarded = 0; discarded < kMostAfterHangUp;) {
    input_.consume(input_.size());
    auto [error, received] =
        co_await socket.async_read_some(input_.prepare(kReadBytes), asio::as_tuple(asio::use_awaitable));
    if (error || received == 0) break;
    discarded += received;
  }
}

Task<bool> Session::write(std::string_view first, std::string_view second) {
  wait_for_peer(first.size() + second.size());
  auto [error, written] = co_await stream_.write(first, second);
  peer_moved(written);
  co_return !error;
}

Task<bool> Session::serve_one(std::pmr::monotonic_buffer_resource& head_memory) {
  head_memory.release();
  Parser parser(std::piecewise_construct, std::make_tuple(), std::make_tuple(&head_memory));
  parser.header_limit(static_cast<std::uint32_t>(context_.options.max_header_bytes));
  parser.body_limit(boost::none);
  parser.eager(false);
  idle_ = input_.size() == 0;
  set_deadline(idle_ ? context_.options.idle_timeout : context_.options.header_timeout);
  boost::system::error_code malformed;
  while (!parse_head(parser, input_, malformed)) {
    if (idle_ && input_.size() > 0) {
      idle_ = false;
      set_deadline(context_.options.header_timeout);
    }
    auto [error, received] = co_await stream_.read_some(input_.prepare(kReadBytes));
    if (error || received == 0) co_return false;
    input_.commit(received);
  }
  idle_ = false;
  if (malformed) co_return co_await refuse(parse_failure(malformed));
  if (auto ambiguous = ambiguity(parser)) co_return co_await refuse(std::move(*ambiguous));
  if (!to_origin_form(parser)) co_return co_await refuse(make_error(ErrorCode::kInvalidUri));
  fill_request(request_, parser);
  request_.tls = stream_.tls();
  request_.request_id = context_.random.guid();
  const auto expect = request_.header("expect");
  SessionBody body(*this, parser, expect && iequals_ascii(*expect, "100-continue"));
  request_.body = &body;

  // The handler has limits of its own (long polls wait); the connection's deadline is for the peer.
  deadline_ = SteadyTime::max();
  patience_.renew();
  kRequestRead.reach();
  Response response;
  try {
    response = co_await context_.handler(request_);
  } catch (const std::exception& thrown) {
    response = after_exception(context_, request_, thrown);
  }
  // The answer goes first: a client that is refused early learns it even while it still sends. The body of a client
  // that was refused entry is not read.
  const bool stranger = !body.finished() && (response.status == 401 || response.status == 403);
  const bool keep_alive = parser.keep_alive() && !stranger && !body.unwanted() && !context_.stopping.load();
  if (response.status == 503 && !response.headers.find("Retry-After")) response.set("Retry-After", "1");
  const auto head = render_head(&request_, response, keep_alive, context_.options.server_name);
  if (request_.method == "HEAD" || response.status == 204 || response.status == 304) {
    response.body.clear();
    response.source.reset();
  }
  kReplyStep.before.reach();
  std::string_view head_left = head, body_left = response.body;
  if (!stream_.tls() && !co_await outbox_.send(stream_.socket(), head_left, body_left)) co_return false;
  if (!head_left.empty() || !body_left.empty()) {
    if (!co_await write(head_left, body_left)) co_return false;
  }
  kReplyStep.after.reach();
  if (response.source && !co_await stream_body(*response.source, response.source_length)) co_return false;
  if (stranger) {
    co_await hang_up();
  } else if (!body.finished() && !co_await drain(body)) {
    co_return false;
  }
  if (keep_alive && response.pause > Duration::zero()) co_await rest(response.pause);
  co_return keep_alive;
}

Task<void> Session::rest(Duration pause) {
  // The pause is up to twice as long, so that connections that were refused together do not return together.
  pause += Duration(static_cast<std::int64_t>(context_.random.below(static_cast<std::uint64_t>(pause.count()))));
  asio::steady_timer timer(stream_.socket().get_executor(),
                           std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

Task<bool> Session::refuse(Error error) {
  const auto response = context_.render_error(error, context_.random.guid());
  const auto head = render_head(nullptr, response, false, context_.options.server_name);
  co_await write(head, response.body);
  co_return false;
}

Task<bool> Session::stream_body(BodySource& source, std::optional<std::uint64_t> length) {
  std::uint64_t sent = 0;
  for (;;) {
    auto piece = co_await source.next();
    if (!piece) {
      const auto& error = piece.error();
      log_warning("response body aborted request_id={} operation=\"{} {}\" code={} detail=\"{}\"", request_.request_id,
                  request_.method, request_.path, azure_name_of(error.code),
                  error.detail.empty() ? error.message : error.detail);
      co_return false;
    }
    if (length && sent + piece->size() > *length) co_return false;
    if (piece->empty()) break;
    sent += piece->size();
    std::string prefix;
    if (!length) {
      prefix = fmt::format("{:x}\r\n", piece->size());
      piece->append("\r\n");
    }
    if (!co_await write(prefix, *piece)) co_return false;
  }
  if (length) co_return sent == *length;
  co_return co_await write("0\r\n\r\n", {});
}

}  // namespace tidemark::http
