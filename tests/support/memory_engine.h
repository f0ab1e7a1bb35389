// The in-memory engine for tests and the simulation. It runs each body at once on the calling thread, and keeps
// everything in one ordered map with copy-on-write snapshots. The contents are in a MemoryDisk, so an engine can
// "crash" and be opened again with its durable contents. Every body is run several times (repeating_engine.h).
//
// Where TIDEMARK_TEST_POSTGRES names a cluster (postgres.py), a disk is a schema there, so that all tests that were
// written for this engine can run on PostgreSQL.
#pragma once
#include <memory>

#include "common/kv/engine.h"

namespace tidemark::kv {

class MemoryDisk;
std::shared_ptr<MemoryDisk> make_memory_disk();
std::unique_ptr<Engine> make_memory_engine(std::shared_ptr<MemoryDisk> disk);
inline std::unique_ptr<Engine> make_memory_engine() { return make_memory_engine(make_memory_disk()); }

}  // namespace tidemark::kv
