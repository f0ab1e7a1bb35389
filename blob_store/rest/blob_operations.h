// The operations of the blob protocol, one function for each. blob_routes.cpp says which request is which operation,
// and which permissions it needs. Each function parses the request, calls the service once and renders the answer.
#pragma once
#include "blob_store/rest/blob_call.h"

namespace tidemark::blob_store::operations {

Answer get_account(Call& call);
Answer list_containers(Call& call);
Answer get_service_properties(Call& call);
Answer set_service_properties(Call& call);
Answer get_delegation_key(Call& call);
Answer get_stats(Call& call);

Answer create_container(Call& call);
Answer delete_container(Call& call);
Answer get_container(Call& call);
Answer get_container_metadata(Call& call);
Answer set_container_metadata(Call& call);
Answer get_container_acl(Call& call);
Answer set_container_acl(Call& call);
Answer list_blobs(Call& call);
Answer lease_container(Call& call);

Answer read_blob(Call& call);
Answer read_blob_metadata(Call& call);
Answer read_block_list(Call& call);
Answer put_blob(Call& call);
/// Put Block also takes a URL as its source, as do append_block and put_page.
Answer put_block(Call& call);
Answer put_block_list(Call& call);
Answer append_block(Call& call);
Answer seal_blob(Call& call);
Answer put_page(Call& call);
Answer read_page_ranges(Call& call);
Answer set_blob_headers(Call& call);
Answer set_blob_metadata(Call& call);
Answer delete_blob(Call& call);
Answer undelete_blob(Call& call);
Answer snapshot_blob(Call& call);
Answer lease_blob(Call& call);
Answer copy_blob(Call& call);
Answer put_blob_from_url(Call& call);
Answer abort_copy(Call& call);

Answer get_tags(Call& call);
Answer set_tags(Call& call);
Answer find_blobs(Call& call);
Answer set_tier(Call& call);
Answer batch(Call& call);

/// Put Blob for types other than block blobs.
Answer create_append_blob(Call& call, NewContent content, Conditions conditions);
Answer create_page_blob(Call& call, NewContent content, Conditions conditions);
/// Set Blob Properties with the size or the sequence number of a page blob.
bool sets_page_properties(const Call& call);
Answer set_page_properties(Call& call);

}  // namespace tidemark::blob_store::operations
