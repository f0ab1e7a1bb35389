// Checks names in a request by the rules of the stores, with messages that explain the rules. Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::api {

/// kInvalidInput.
Result<void> check_table_name(std::string_view table);
/// The stores' own codes: kInvalidResourceName, kOutOfRangeInput.
Result<void> check_queue_name(std::string_view queue);
Result<void> check_container_name(std::string_view container);
Result<void> check_blob_name(std::string_view blob);
/// Checks the name of a table, queue or container that is to be changed by hand: none of Tidemark's own, nor the logs
/// of analytics. As above; kAuthorizationPermissionMismatch, whatever the caller's role.
Result<void> check_may_change_table(const std::string& table);
Result<void> check_may_change_queue(const std::string& queue);
Result<void> check_may_change_container(const std::string& container);
/// Checks a key of an entity; `what` is the name of the member or parameter. kOutOfRangeInput.
Result<void> check_key(std::string_view what, std::string_view key);

}  // namespace tidemark::api
