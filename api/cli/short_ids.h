// Ids as people give them: whole, or the end of one that no other has, as lists on a terminal show them.
#pragma once
#include <string>

#include "api/cli/api_client.h"

namespace tidemark::cli {

/// The whole id of what is in a list of the api with pages, `path` and its member `member`, by the end of its `id` or
/// `jobId`. What does not look like the end of an id, or is found nowhere, is returned as it is, for the api to judge.
/// kInvalidInput if several have this end.
Result<std::string> whole_id(ApiClient& api, const std::string& path, const std::string& member,
                             const std::string& given);
Result<std::string> whole_job_id(const GlobalOptions& options, const std::string& given);

}  // namespace tidemark::cli
