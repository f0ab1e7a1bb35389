#include "common/rpc/rpc_wire.h"

#include <algorithm>

#include "common/base/bytes.h"

namespace tidemark::rpc {
namespace {

Error broken_reply(std::string detail) {
  auto error = make_error(ErrorCode::kInternalError);
  error.detail = std::move(detail);
  return error;
}

}  // namespace

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
  std::string out;
  ByteWriter writer(out);
  writer.string(error.message);
  writer.string(error.detail);
  auto count = std::min(error.fields.size(), kMaxErrorFields);
  writer.varint(count);
  for (std::size_t i = 0; i < count; ++i) {
    writer.string(error.fields[i].first);
    writer.string(error.fields[i].second);
  }
  return out;
}

Result<std::string> decode_reply(std::uint16_t status, std::string body) {
  if (status == 0) return body;
  auto code = error_code_from_number(status);
  if (!code) return fail(broken_reply("rpc reply with unknown status " + std::to_string(status)));
  ByteReader reader(body);
  Error error{*code, std::string(reader.string()), std::string(reader.string()), {}};
  auto count = reader.varint();
  if (count > kMaxErrorFields) return fail(broken_reply("rpc error with too many fields"));
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string name(reader.string());
    error.fields.emplace_back(std::move(name), std::string(reader.string()));
  }
  if (!reader.finished()) return fail(broken_reply("rpc error that cannot be decoded"));
  return fail(std::move(error));
}

}  // namespace tidemark::rpc
