// Reads variables that the environment does not set from a file, so that `tidemark` works at once where the stack runs
// as a service: its package and its containers write the account, its key and the stack's addresses into a file.
#pragma once

namespace tidemark::cli {

/// Reads the file that TIDEMARK_ENV_FILE names, or else /etc/tidemark/secrets.env: lines of NAME=VALUE, of which those
/// that begin with TIDEMARK_ count. Variables of the environment win, unless they are empty. A file that is missing, or
/// that this user may not read, is ignored. Call it first in main, before there are threads.
void read_environment_file();

}  // namespace tidemark::cli
