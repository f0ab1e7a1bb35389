// The allocator of the programs, mimalloc where it is linked (cmake/compiler.cmake).
#pragma once

namespace tidemark::process {

/// Lets memory that is free for a second go back to the system. The allocator's default is 25 ms, after which buffers
/// that every request and every page of a scan needs are taken from the system again and again.
/// MIMALLOC_DECOMMIT_DELAY, in ms, overrides this. Call it first in main.
void keep_free_memory_for_a_moment();

}  // namespace tidemark::process
