// The form of errors for table clients: JSON for data operations, XML with an m:error root for the operations that use
// XML.
#pragma once
#include <string>

#include "common/base/error.h"
#include "common/base/time.h"
#include "common/http/http.h"

namespace tidemark::table_store {

/// Returns {"odata.error":{...}} on one line; `prefix` is "3:" for the fourth operation of a batch.
std::string error_json(const Error& error, const std::string& request_id, Time now, const std::string& prefix = {});

enum class ErrorForm { kJson, kXml };
/// Makes the answer without the headers that every answer has.
http::Response error_response(const Error& error, ErrorForm form, const std::string& request_id, Time now);

/// Tells whether this is a refusal that comes before the request is examined; its answer echoes nothing from the
/// request.
bool is_authentication_failure(ErrorCode code);

}  // namespace tidemark::table_store
