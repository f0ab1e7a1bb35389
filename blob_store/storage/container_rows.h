// Containers as rows of the catalogue (common/kv/catalogue_copies.h), for a store of several shards: a copy says which
// generation the container has, and a container that is deleted leaves a dead generation on each shard, in the
// transaction that erases the copy there. A version is an id of the first shard, as a generation is.
#pragma once
#include "blob_store/model/blob.h"
#include "common/kv/catalogue_copies.h"

namespace tidemark::blob_store {

const kv::CatalogueCopies::Rows& container_rows();
/// `version`: an id that is higher than the container's generation.
kv::CatalogueCopies::Change dropped(const Container& container, std::uint64_t version);

}  // namespace tidemark::blob_store
