// The bytes of the frames in zmq_transport.h, without sockets. Input is checked; if it is wrong, the result is no
// value, or an error.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/trace_context.h"

namespace tidemark::rpc {

inline constexpr std::size_t kMaxMethodBytes = 64;
inline constexpr std::size_t kMaxBuildBytes = 32;
inline constexpr std::size_t kMaxErrorFields = 64;
/// The largest message that a client sends and accepts. A server can have a lower limit.
inline constexpr std::size_t kMaxMessageBytes = 24UL << 20;
/// Room for status and framing beyond the largest payload; ZeroMQ itself cuts off larger messages.
inline constexpr std::size_t kFrameSlackBytes = 64UL << 10;

/// The first frame of a request: its id, and the version of the calling program; then, if the request belongs to a
/// trace, a zero byte, its traceparent and its tracestate.
struct RequestHead {
  std::uint64_t id = 0;
  std::string_view build;
  TraceContext trace = {};
};
/// `trace`: null if there is none.
std::string encode_request_head(std::uint64_t id, const TraceContext* trace);
std::optional<RequestHead> decode_request_head(std::string_view frame);
/// kUnavailable for a request of another version.
Result<void> check_build(std::string_view build);
std::string encode_id(std::uint64_t id);
std::optional<std::uint64_t> decode_id(std::string_view frame);
/// Tells whether the text is a short printable name without spaces.
bool is_valid_method(std::string_view method);

std::string encode_status(std::uint16_t status);
std::optional<std::uint16_t> decode_status(std::string_view frame);
std::string encode_error(const Error& error);
/// Returns the result that a reply's status and body stand for; kInternalError if they are not valid.
Result<std::string> decode_reply(std::uint16_t status, std::string body);

}  // namespace tidemark::rpc
