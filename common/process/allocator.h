// The allocator of the programs, mimalloc where it is linked (cmake/compiler.cmake).
#pragma once

namespace tidemark::process {

/// Memory that is free for a second goes back to the system. By default it does after 25 ms, so that buffers which
/// every request and every page of a walk needs are taken from the system again and again. MIMALLOC_DECOMMIT_DELAY, in
/// ms, says otherwise. Call it first in main.
void keep_free_memory_for_a_moment();

}  // namespace tidemark::process
