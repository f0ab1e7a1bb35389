// The operations of the blob protocol, with a function for each. blob_routes.cpp says which request is which operation
// and what permissions it needs. Each function parses, calls the service once and renders.
#pragma once
#include "blob_store/rest/blob_call.h"

namespace tidemark::blob_store {

namespace operations {

Answer get_account(Call& call);
Answer list_containers(Call& call);
Answer get_service_properties(Call& call);
Answer set_service_properties(Call& call);
Answer get_stats(Call& call);

Answer create_container(Call& call);
Answer delete_container(Call& call);
Answer get_container(Call& call);
Answer get_container_metadata(Call& call);
Answer set_container_metadata(Call& call);
Answer get_container_acl(Call& call);
Answer set_container_acl(Call& call);
Answer list_blobs(Call& call);

Answer read_blob(Call& call);
Answer read_blob_metadata(Call& call);
Answer read_block_list(Call& call);
Answer put_blob(Call& call);
Answer put_block(Call& call);
Answer put_block_list(Call& call);
Answer append_block(Call& call);
Answer seal_blob(Call& call);
Answer set_blob_headers(Call& call);
Answer set_blob_metadata(Call& call);
Answer delete_blob(Call& call);

/// Put Blob of the other types than block blobs.
Answer create_append_blob(Call& call, NewContent content, Conditions conditions);

}  // namespace operations

/// Streams the request's body into a payload and checks its length and MD5 against what was declared. Nothing is left
/// behind after an error.
struct ReceivedBody {
  WrittenPayload payload;
  std::string md5;  // base64, computed
};
Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5);
/// The whole of a small body, with its Content-MD5 checked.
Task<Result<std::string>> receive_text(Call& call, std::size_t limit);

}  // namespace tidemark::blob_store
