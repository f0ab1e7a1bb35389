// Sending many poison messages back, or deleting them: counted and asked for first, then done by one job, which --wait
// follows. One message needs no job.
#pragma once
#include "api/cli/poison_edit.h"

namespace tidemark::cli {

struct BulkArguments {
  PoisonSelection which;
  std::string file;                                     // of one message: what replaces its job
  std::uint64_t per_second = 0, canary = 0, limit = 0;  // 0: as the api has it
  bool wait = false;
};

/// Prints the id of the job. With `wait`, what came of it: kJobNotSucceeded if it failed, or a message that was sent
/// back failed again.
Result<int> redrive_many(const GlobalOptions& options, BulkArguments arguments);
Result<int> delete_many(const GlobalOptions& options, BulkArguments arguments);
/// Of one message, with its job's new text if there is one.
Result<int> redrive_one(const GlobalOptions& options, const BulkArguments& arguments, const EditedMessage& edited);
Result<int> delete_one(const GlobalOptions& options, const PoisonSelection& which);

}  // namespace tidemark::cli
