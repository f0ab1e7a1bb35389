// The engine on PostgreSQL for tests that were written for one that is done when submit() returns: it waits.
#pragma once
#include <memory>
#include <string>

#include "common/kv/engine.h"

namespace tidemark::kv {

/// In the cluster whose socket is in `directory`. Throws if it cannot be opened.
std::unique_ptr<Engine> open_waiting_postgres(const std::string& directory, const std::string& schema);

}  // namespace tidemark::kv
