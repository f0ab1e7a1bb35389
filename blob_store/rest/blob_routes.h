// The operations, by the resource they act on. Each authorizes, parses, makes one call of the service and renders.
#pragma once
#include "blob_store/rest/blob_call.h"
#include "blob_store/rest/blob_xml.h"

namespace tidemark::blob_store {

using Answer = Task<Result<http::Response>>;

Answer serve_account(Call& call);
Answer serve_container(Call& call);
Answer serve_blob(Call& call);

Result<http::Response> account_info(const Call& call);
/// GET, HEAD of a blob.
Result<http::Response> read_blob(const Call& call);
Result<http::Response> read_blob_metadata(const Call& call);
Result<http::Response> read_block_list(const Call& call);
/// kNotImplemented for an operation of the protocol that is not offered, kInvalidQueryParameterValue for no operation.
Error unknown_operation(const Call& call);

/// Streams the request's body into a payload, checking its length and MD5 against what was declared. The error
/// leaves nothing behind.
struct ReceivedBody {
  WrittenPayload payload;
  std::string md5;  // base64, computed
};
Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5);
/// A small body whole, with its Content-MD5 checked.
Task<Result<std::string>> receive_text(Call& call, std::size_t limit);

}  // namespace tidemark::blob_store
