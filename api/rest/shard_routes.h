// The routes of shards, like those of api_routes.h.
#pragma once
#include "api/rest/api_routes.h"

namespace tidemark::api {

std::span<const Route> shard_routes();

}  // namespace tidemark::api
