// Writes requests to the api into the form of the audit trail (jobs/audit/audit_store.h). Pure, apart from the log.
#pragma once
#include <string>
#include <string_view>

#include "api/rest/api_routes.h"

namespace tidemark::api {

/// Returns the trail's name for the operation of a route: "jobs.cancel" for POST v1/jobs/*/cancel, "jobs.post" for POST
/// v1/jobs, "tables.feed.delete" for DELETE v1/tables/*/feed.
std::string operation_of(std::string_view method, std::string_view pattern);
/// Returns X-Tidemark-Reason with its percent escapes decoded: a browser can send only the characters of Latin-1.
std::string reason_in(const http::Request& request);

/// Returns the detail of an entry that tells why a call was refused.
std::string why_refused(const Error& error);

bool leaves_entry(const Route& route, const http::Request& request);
/// Returns the entry of an action that begins.
jobs::AuditEntry entry_of(const Route& route, const Action& action, const http::Request& request);
/// Adds the result of the action.
void note_answer(const Action& action, const Result<http::Response>& answer, jobs::AuditEntry& entry);

/// The error for the caller: the entry could not be written, so nothing was done.
Error not_noted(const Error& error);
/// Logs that the entry says "begun" and always will.
void log_lost_outcome(const jobs::AuditEntry& entry, const Error& error);

}  // namespace tidemark::api
