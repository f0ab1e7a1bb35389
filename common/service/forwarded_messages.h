// The messages by which the processes of a store pass on requests of clients. Internal to forwarded_*.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/http.h"

namespace tidemark::service::forwarded {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A request as the client sent it.
struct Request {
  std::uint64_t shard = 0;
  std::string sender;  // the process that passes it on
  std::string method, target;
  Headers headers;
  std::string remote_address;
  bool tls = false;
  std::string request_id;
  std::optional<std::uint64_t> length;  // the declared length
  std::string body;                     // if the body comes whole
};

struct Response {
  std::uint64_t status = 0;
  Headers headers;
  std::string body;
  std::optional<std::uint64_t> head_content_length;
  // If the body is streamed, `body` is its beginning.
  bool streamed = false;
  std::optional<std::uint64_t> length;
  std::string rest;  // the name under which the rest is kept; empty: there is no rest
};

/// Passes a whole request on. The reply is the response.
inline constexpr std::string_view kWhole = "http.request";

/// Passes a request on without its body. The reply is a Progress, and so is the reply to each piece of the body.
inline constexpr std::string_view kBegin = "http.begin";
inline constexpr std::string_view kPiece = "http.piece";
struct Piece {
  std::string upload;
  std::uint64_t number = 0;  // counted from 0
  bool last = false;
  std::string bytes;
};
/// Without a response, it asks for the next piece.
struct Progress {
  std::string upload;
  std::optional<Response> response;
};

/// Asks for the next piece of a response's body; the reply is empty at the end.
inline constexpr std::string_view kNext = "http.next";
struct Next {
  std::string rest;
  std::uint64_t number = 0;  // counted from 0
};

/// The process that sent a body, or asked for one, has given up.
inline constexpr std::string_view kDrop = "http.drop";
struct Drop {
  std::string name;
};

/// Returns a request whose parts point into `from`. `from` and `body` must outlive it.
http::Request request_of(const Request& from, http::BodyReader& body);
/// Makes the message without the body.
Request head_of(std::size_t shard, const std::string& sender, const http::Request& request);
/// Makes the response without a streamed body.
http::Response response_of(Response from);
Response told(http::Response response);

}  // namespace tidemark::service::forwarded
