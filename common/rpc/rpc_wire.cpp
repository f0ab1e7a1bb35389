#include "common/rpc/rpc_wire.h"

#include <algorithm>

#include "common/base/bytes.h"
#include "common/rpc/wire.h"

namespace tidemark::rpc {
namespace {

constexpr std::size_t kTraceParentBytes = 55;

/// An error as the body of a reply.
struct ErrorText {
  std::string message, detail;
  std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace

std::string encode_request_head(std::uint64_t id, const TraceContext* trace) {
  auto head = encode_id(id).append(TIDEMARK_VERSION);
  if (trace != nullptr) head.append(1, '\0').append(traceparent_of(*trace)).append(trace->state);
  return head;
}

std::optional<RequestHead> decode_request_head(std::string_view frame) {
  constexpr std::size_t kIdBytes = sizeof(std::uint64_t);
  if (frame.size() < kIdBytes || frame.size() > kIdBytes + kMaxBuildBytes + 1 + kTraceParentBytes + kMaxTraceState) {
    return std::nullopt;
  }
  const auto id = decode_id(frame.substr(0, kIdBytes));
  if (!id) return std::nullopt;
  const auto rest = frame.substr(kIdBytes);
  const auto end = std::min(rest.find('\0'), rest.size());
  if (end > kMaxBuildBytes) return std::nullopt;
  if (end == rest.size()) return RequestHead{*id, rest};
  const auto trace = rest.substr(end + 1);
  auto context =
      parse_trace(trace.substr(0, kTraceParentBytes), trace.substr(std::min(kTraceParentBytes, trace.size())));
  if (!context) return std::nullopt;
  return RequestHead{*id, rest.substr(0, end), std::move(*context)};
}

Result<void> check_build(std::string_view build) {
  if (build == TIDEMARK_VERSION) return {};
  return fail(ErrorCode::kUnavailable, "The program that asks is of version " + std::string(build) +
                                           " and the store of version " TIDEMARK_VERSION
                                           ": install the same version on all machines.");
}

std::string encode_id(std::uint64_t id) {
  std::string out;
  ByteWriter(out).u64(id);
  return out;
}

std::optional<std::uint64_t> decode_id(std::string_view frame) {
  ByteReader reader(frame);
  auto id = reader.u64();
  if (!reader.finished()) return std::nullopt;
  return id;
}

bool is_valid_method(std::string_view method) {
  return !method.empty() && method.size() <= kMaxMethodBytes &&
         std::ranges::all_of(method, [](char c) { return c > ' ' && c < 0x7F; });
}

std::string encode_status(std::uint16_t status) {
  return {static_cast<char>(status & 0xFF), static_cast<char>(status >> 8)};
}

std::optional<std::uint16_t> decode_status(std::string_view frame) {
  if (frame.size() != 2) return std::nullopt;
  auto low = static_cast<unsigned char>(frame[0]);
  auto high = static_cast<unsigned char>(frame[1]);
  return static_cast<std::uint16_t>(low | (high << 8));
}

std::string encode_error(const Error& error) {
  ErrorText text{error.message, error.detail, error.fields};
  if (text.fields.size() > kMaxErrorFields) text.fields.resize(kMaxErrorFields);
  return wire::encode(text);
}

Result<std::string> decode_reply(std::uint16_t status, std::string body) {
  if (status == 0) return body;
  const auto code = error_code_from_number(status);
  auto text = wire::decode<ErrorText>(body);
  if (!code || !text || text->fields.size() > kMaxErrorFields) {
    return fail(error_for_log(ErrorCode::kInternalError,
                              "rpc reply with status " + std::to_string(status) + " that makes no sense"));
  }
  return fail(Error{*code, std::move(text->message), std::move(text->detail), std::move(text->fields)});
}

}  // namespace tidemark::rpc
