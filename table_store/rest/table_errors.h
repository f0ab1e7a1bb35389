// The form of errors for table clients: JSON for data operations, XML with an m:error root for the operations that use
// XML.
#pragma once
#include <string>

#include "common/base/error.h"
#include "common/base/time.h"
#include "common/http/http.h"

namespace tidemark::table_store {

/// {"odata.error":{...}} on one line; `prefix` is "3:" for the fourth operation of a batch.
std::string error_json(const Error& error, const std::string& request_id, Time now, const std::string& prefix = {});

enum class ErrorForm { kJson, kXml };
/// Without the headers that every answer has.
http::Response error_response(const Error& error, ErrorForm form, const std::string& request_id, Time now);

/// True for refusals that come before the request is examined; their answers echo nothing from it.
bool is_authentication_failure(ErrorCode code);

}  // namespace tidemark::table_store
