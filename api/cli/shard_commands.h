// The commands about shards, like those of commands.h.
#pragma once
#include "api/cli/commands.h"

namespace tidemark::cli {

void add_shard_commands(const Commands& program);

}  // namespace tidemark::cli
