// How a failure looks to a table client: JSON for data operations, XML with an m:error root for the operations that
// speak XML. No state.
#pragma once
#include <string>

#include "common/base/error.h"
#include "common/base/time.h"
#include "common/http/http.h"

namespace tidemark::table_store {

/// {"odata.error":{...}} on one line; `prefix` is "3:" for the fourth operation of a batch.
std::string error_json(const Error& error, const std::string& request_id, Time now, const std::string& prefix = {});

enum class ErrorForm { kJson, kXml };
/// Without the headers that every answer carries.
http::Response error_response(const Error& error, ErrorForm form, const std::string& request_id, Time now);

/// True for the refusals that come before the request is looked at: they echo nothing from it.
bool is_authentication_failure(ErrorCode code);

}  // namespace tidemark::table_store
