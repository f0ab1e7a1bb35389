// The engine on PostgreSQL for tests that expect an engine to be done when submit() returns: it waits.
#pragma once
#include <memory>
#include <string>

#include "common/kv/engine.h"

namespace tidemark::kv {

/// Opens an engine in the cluster whose socket is in `directory`. Throws if it cannot be opened.
std::unique_ptr<Engine> open_waiting_postgres(const std::string& directory, const std::string& schema);

}  // namespace tidemark::kv
