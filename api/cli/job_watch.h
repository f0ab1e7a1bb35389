// Follows a job by its events, with a bar on a terminal and plain lines elsewhere; and prints jobs.
#pragma once
#include "api/cli/api_client.h"

namespace tidemark::cli {

/// The job in one line.
std::string job_summary(const nlohmann::json& job);
/// The job with its history.
std::string job_details(const nlohmann::json& job);

/// Watches the job until its end; then prints it. kOk or kJobNotSucceeded.
Result<int> watch_job(const GlobalOptions& options, ApiClient& api, const std::string& id);
/// Waits for the job's end, with progress on standard error; returns the job as it ended.
Result<nlohmann::json> await_job(const GlobalOptions& options, ApiClient& api, const std::string& id);
/// Prints a line for every change on standard output: JSON with --json, else a summary.
Result<int> follow_job(const GlobalOptions& options, const std::string& id);

}  // namespace tidemark::cli
