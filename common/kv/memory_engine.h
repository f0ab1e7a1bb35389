// The in-memory engine for tests and simulation: runs each body at once on the calling thread; keeps everything in one
// ordered map with copy-on-write snapshots. Contents live in a MemoryDisk, so that an engine can "crash" and be opened
// again over what it had made durable.
#pragma once
#include <memory>

#include "common/kv/engine.h"

namespace tidemark::kv {

class MemoryDisk;
std::shared_ptr<MemoryDisk> make_memory_disk();
std::unique_ptr<Engine> make_memory_engine(std::shared_ptr<MemoryDisk> disk);
inline std::unique_ptr<Engine> make_memory_engine() { return make_memory_engine(make_memory_disk()); }

}  // namespace tidemark::kv
