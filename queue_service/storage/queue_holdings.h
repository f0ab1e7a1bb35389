// The amounts that an account has in the store, for its bounds (common/service/holdings.h).
#pragma once
#include <functional>
#include <span>
#include <string>

#include "common/kv/engine.h"

namespace tidemark::queue_service {

/// Calls `each` with all rows of each queue.
Result<void> each_queue(const kv::Reader& rows, const std::string& account,
                        const std::function<Result<void>(std::span<const kv::KeyRange>)>& each);

}  // namespace tidemark::queue_service
