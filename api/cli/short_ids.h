// Ids in the form that people give: whole, or an end that only one id has, as lists on a terminal show them.
#pragma once
#include <string>

#include "api/cli/api_client.h"

namespace tidemark::cli {

/// Returns the whole id of an entry in a paged list of the api, `path` and its member `member`, by the end of its `id`
/// or `jobId`. A text that does not look like the end of an id, or that is not found, is returned as it is, for the api
/// to judge. kInvalidInput if several ids have this end.
Result<std::string> whole_id(ApiClient& api, const std::string& path, const std::string& member,
                             const std::string& given);
Result<std::string> whole_job_id(const GlobalOptions& options, const std::string& given);

}  // namespace tidemark::cli
