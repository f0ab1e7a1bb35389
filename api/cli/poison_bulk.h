// Sends many poison messages back, or deletes them: counts them and asks first, then submits one job, which --wait
// follows. A single message needs no job.
#pragma once
#include "api/cli/poison_edit.h"

namespace tidemark::cli {

struct BulkArguments {
  PoisonSelection which;
  std::string file;                                     // for one message: its new job
  std::uint64_t per_second = 0, canary = 0, limit = 0;  // 0: the api's default
  bool wait = false;
};

/// Prints the id of the job; with `wait`, its result: kJobNotSucceeded if it failed, or if a message that was sent back
/// failed again.
Result<int> redrive_many(const GlobalOptions& options, BulkArguments arguments);
Result<int> delete_many(const GlobalOptions& options, BulkArguments arguments);
/// Sends one message back, with its job's new text if there is one.
Result<int> redrive_one(const GlobalOptions& options, const BulkArguments& arguments, const EditedMessage& edited);
Result<int> delete_one(const GlobalOptions& options, const PoisonSelection& which);

}  // namespace tidemark::cli
