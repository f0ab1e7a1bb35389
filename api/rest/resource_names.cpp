#include "api/rest/resource_names.h"

#include "blob_store/model/names.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_rules.h"
#include "table_store/model/limits.h"

namespace tidemark::api {
namespace {

Result<void> saying(std::string rule, Result<void> checked) {
  if (!checked) checked.error().message = std::move(rule);
  return checked;
}

constexpr std::string_view kOwnPrefix = "tidemark";

}  // namespace

Result<void> check_table_name(std::string_view table) {
  if (jobs::is_table_name(table)) return {};
  return fail(ErrorCode::kInvalidInput, "A table's name has 3 to 63 letters and digits, a letter first.");
}

Result<void> check_queue_name(std::string_view queue) {
  return saying(
      "A queue's name has 3 to 63 lower-case letters, digits and single hyphens between them. Parts of a spread queue "
      "have no names: give that of the queue, which stands for all of them.",
      queue_service::check_queue_name(queue));
}

Result<void> check_container_name(std::string_view container) {
  return saying("A container's name has 3 to 63 lower-case letters, digits and single hyphens between them.",
                blob_store::check_container_name(container));
}

Result<void> check_blob_name(std::string_view blob) {
  return saying("A blob's name is UTF-8 of 1 to 1024 characters, none of them NUL.", blob_store::check_blob_name(blob));
}

Result<void> check_may_change_table(const std::string& table) {
  TRY(check_table_name(table));
  if (!jobs::is_own_table(table)) return {};
  return fail(
      ErrorCode::kAuthorizationPermissionMismatch,
      table + " belongs to Tidemark itself: jobs, schedules, indexes and limits are changed by their own operations.");
}

Result<void> check_may_change_queue(const std::string& queue) {
  TRY(check_queue_name(queue));
  if (!queue.starts_with(kOwnPrefix)) return {};
  return fail(ErrorCode::kAuthorizationPermissionMismatch,
              queue +
                  " belongs to Tidemark itself: jobs are submitted and cancelled, and their poison is sent back or "
                  "deleted, by the operations for jobs and poison messages.");
}

Result<void> check_may_change_container(const std::string& container) {
  TRY(blob_store::check_container_name(container));
  if (!container.starts_with(kOwnPrefix) && container != blob_store::kLogContainer) return {};
  return fail(ErrorCode::kAuthorizationPermissionMismatch,
              "The container " + container + " belongs to Tidemark itself: its blobs are not changed by hand.");
}

Result<void> check_key(std::string_view what, std::string_view key) {
  return saying(std::string(what) +
                    " must be UTF-8 of at most 512 characters, without control characters, '/', '\\', '#' and '?'.",
                table_store::check_key(key));
}

}  // namespace tidemark::api
