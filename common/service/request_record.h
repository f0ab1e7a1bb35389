// Makes the record of an answered request for storage analytics (common/analytics). It is made when the answer is
// ready, so it does not cover the network's part.
#pragma once
#include "common/analytics/recorder.h"
#include "common/service/front.h"

namespace tidemark::service {

/// `service`: "blob", "queue" or "table". The record's views point into the call and the answer.
analytics::LogRecord record_of(const Call& call, const http::Response& response, analytics::Operation operation,
                               std::string_view service, bool timed_out);

}  // namespace tidemark::service
