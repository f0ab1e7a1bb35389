// The optional x-ms-tidemark-* request headers of message operations, read and checked; what they mean is in
// docs/queue-extensions.md. Errors are kInvalidHeaderValue with the fields HeaderName and HeaderValue. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "queue_service/rest/queue_call.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

/// x-ms-tidemark-wait; zero if absent.
Result<Duration> wait_in(const Call& call);
/// x-ms-tidemark-detail.
Result<bool> wants_detail(const Call& call);
/// x-ms-tidemark-group, -idempotency-key, -idempotency-retention into a put.
Result<void> read_put_extensions(const Call& call, PutRequest& put);
/// By x-ms-tidemark-lease if that is given, by the parameter popreceipt otherwise; kMissingRequiredQueryParameter.
Result<LeaseKey> holder_in(const Call& call);
std::string lease_token(const Message& message);
/// x-ms-tidemark-move-to, -reason, -reset-dequeue-count; nothing if the first is absent.
Result<std::optional<MoveRequest>> move_in(const Call& call);
/// x-ms-tidemark-finish.
Result<bool> wants_finish(const Call& call);
/// x-ms-tidemark-max-dequeue-count, -parts and -paused, as the metadata that they stand for; empty values switch off.
Result<Metadata> queue_options_in(const Call& call);

inline constexpr std::string_view kFollowUpQueueHeader = "x-ms-tidemark-follow-up-queue";

}  // namespace tidemark::queue_service::rest
