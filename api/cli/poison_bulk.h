// Sending many poison messages back, or deleting them: asked for first, and with --wait told what became of each.
#pragma once
#include "api/cli/poison_selection.h"

namespace tidemark::cli {

struct RedriveArguments {
  PoisonSelection which;
  std::string file;                                     // of one message: what replaces its job
  std::uint64_t per_second = 0, canary = 0, limit = 0;  // 0: as the api has it
  bool wait = false;
};

/// Of those that match, by a job, whose id is printed. kJobNotSucceeded if it failed, or with `wait` if a message
/// failed again.
Result<int> redrive_many(const GlobalOptions& options, const RedriveArguments& arguments);
/// Of one message, with its job's new text if there is one: as the api takes it.
Result<int> redrive_one(const GlobalOptions& options, const RedriveArguments& arguments, const std::string& content);
Result<int> delete_many(const GlobalOptions& options, PoisonSelection which);

}  // namespace tidemark::cli
