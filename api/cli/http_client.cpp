#include "api/cli/http_client.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "common/base/encoding.h"

namespace tidemark::cli {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

struct HttpClient::Connection {
  std::string base_url, host, port, prefix;
  asio::io_context io;
  tcp::socket socket{io};
  boost::beast::flat_buffer buffer;

  error_code connect() {
    error_code error;
    socket.close(error);
    buffer.clear();
    tcp::resolver resolver(io);
    const auto endpoints = resolver.resolve(host, port, error);
    if (!error) asio::connect(socket, endpoints, error);
    if (!error) socket.set_option(tcp::no_delay(true), error);
    return error;
  }

  error_code exchange(const beast_http::request<beast_http::string_body>& request,
                      beast_http::response_parser<beast_http::string_body>& parser) {
    error_code error;
    beast_http::write(socket, request, error);
    if (!error) beast_http::read(socket, buffer, parser, error);
    return error;
  }
};

HttpClient::HttpClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;
const std::string& HttpClient::prefix() const { return connection_->prefix; }
const std::string& HttpClient::base_url() const { return connection_->base_url; }

std::string HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (iequals_ascii(key, name)) return value;
  }
  return {};
}

Result<HttpClient> HttpClient::create(const std::string& base_url) {
  constexpr std::string_view kScheme = "http://";
  if (!base_url.starts_with(kScheme)) {
    return fail(ErrorCode::kConfigInvalid,
                "\"" + base_url + "\" is not an http:// URL; for TLS put a terminator of it on this machine");
  }
  auto connection = std::make_unique<Connection>();
  connection->base_url = base_url;
  while (connection->base_url.ends_with('/')) connection->base_url.pop_back();
  const auto authority = connection->base_url.substr(kScheme.size());
  const auto slash = authority.find('/');
  if (slash != std::string::npos) connection->prefix = authority.substr(slash);
  const auto host_port = authority.substr(0, slash);
  const auto colon = host_port.rfind(':');
  connection->host = host_port.substr(0, colon);
  connection->port = colon == std::string::npos ? "80" : host_port.substr(colon + 1);
  return HttpClient(std::move(connection));
}

Result<HttpReply> HttpClient::send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                                   std::string body) {
  auto& c = *connection_;
  beast_http::request<beast_http::string_body> request;
  request.version(11);
  request.method_string(method);
  request.target(c.prefix + path);
  request.set("Host", c.host + ":" + c.port);
  for (const auto& [name, value] : headers) request.set(name, value);
  request.body() = std::move(body);
  request.prepare_payload();
  // The server may have closed a kept connection between requests: once more on a new one.
  error_code error;
  for (const bool fresh : {false, true}) {
    if (fresh || !c.socket.is_open()) {
      if (error = c.connect(); error) break;
    }
    beast_http::response_parser<beast_http::string_body> parser;
    parser.body_limit(256UL << 20);
    error = c.exchange(request, parser);
    if (error) continue;
    auto& message = parser.get();
    HttpReply reply;
    reply.status = message.result_int();
    for (const auto& field : message) reply.headers.emplace_back(field.name_string(), field.value());
    reply.body = std::move(message.body());
    if (!message.keep_alive()) c.socket.close();
    return reply;
  }
  return fail(unreachable(error.message()));
}

Error HttpClient::unreachable(const std::string& why) const {
  return make_error(ErrorCode::kUnavailable,
                    "cannot reach " + connection_->base_url + " (" + why + "); is the stack up? Try: scripts/stack up");
}

Result<HttpReply> HttpClient::stream(const std::string& path, const HttpHeaders& headers,
                                     const std::function<void(std::string_view)>& each) {
  auto& c = *connection_;
  beast_http::request<beast_http::string_body> request(beast_http::verb::get, c.prefix + path, 11);
  request.set("Host", c.host + ":" + c.port);
  for (const auto& [name, value] : headers) request.set(name, value);
  auto error = c.connect();
  if (!error) beast_http::write(c.socket, request, error);
  beast_http::response_parser<beast_http::buffer_body> parser;
  parser.body_limit(boost::none);
  if (!error) beast_http::read_header(c.socket, c.buffer, parser, error);
  if (error) return fail(unreachable(error.message()));
  HttpReply reply;
  reply.status = parser.get().result_int();
  while (!parser.is_done() && !error) {
    std::array<char, 16384> piece{};
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    beast_http::read_some(c.socket, c.buffer, parser, error);
    if (error == beast_http::error::need_buffer) error = {};
    const std::string_view got(piece.data(), piece.size() - body.size);
    if (reply.status < 400) {
      if (!got.empty()) each(got);
    } else {
      reply.body += got;
    }
  }
  error_code ignored;
  c.socket.close(ignored);
  if (error) return fail(unreachable(error.message()));
  return reply;
}

}  // namespace tidemark::cli
