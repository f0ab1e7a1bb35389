// What the audit trail (jobs/audit/audit_store.h) says of a request to the api. Pure, apart from the log.
#pragma once
#include <string>
#include <string_view>

#include "api/rest/api_routes.h"

namespace tidemark::api {

/// How the trail names what a route does: "jobs.cancel" of POST v1/jobs/*/cancel, "jobs.post" of POST v1/jobs,
/// "tables.feed.delete" of DELETE v1/tables/*/feed.
std::string operation_of(std::string_view method, std::string_view pattern);
/// X-Tidemark-Reason, with its percent escapes decoded: a browser cannot send other letters than those of Latin-1.
std::string reason_in(const http::Request& request);

bool leaves_entry(const Route& route, const http::Request& request);
/// Of an action that begins.
jobs::AuditEntry entry_of(const Route& route, const Action& action, const http::Request& request);
/// Adds what came of it.
void note_answer(const Action& action, const Result<http::Response>& answer, jobs::AuditEntry& entry);

/// For the caller: the entry could not be written, so nothing was done.
Error not_noted(const Error& error);
/// The entry says "begun" and will go on saying so.
void log_lost_outcome(const jobs::AuditEntry& entry, const Error& error);

}  // namespace tidemark::api
