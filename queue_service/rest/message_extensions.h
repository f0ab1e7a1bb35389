// Reads and checks the optional x-ms-tidemark-* request headers of message operations; docs/queue-extensions.md
// documents them. Errors are kInvalidHeaderValue with the fields HeaderName and HeaderValue. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "queue_service/rest/queue_call.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

/// Reads x-ms-tidemark-wait; zero if absent.
Result<Duration> wait_in(const Call& call);
/// Reads x-ms-tidemark-detail.
Result<bool> wants_detail(const Call& call);
/// Reads x-ms-tidemark-group, -idempotency-key and -idempotency-retention into a put.
Result<void> read_put_extensions(const Call& call, PutRequest& put);
/// Reads x-ms-tidemark-lease if it is given, otherwise the parameter popreceipt; kMissingRequiredQueryParameter.
Result<LeaseKey> holder_in(const Call& call);
std::string lease_token(const Message& message);
/// Reads x-ms-tidemark-move-to, -reason and -reset-dequeue-count; nothing if the first is absent.
Result<std::optional<MoveRequest>> move_in(const Call& call);
/// Reads x-ms-tidemark-finish.
Result<bool> wants_finish(const Call& call);
/// Reads x-ms-tidemark-max-dequeue-count, -parts and -paused, as the metadata that they stand for; an empty value
/// switches the option off.
Result<Metadata> queue_options_in(const Call& call);

inline constexpr std::string_view kFollowUpQueueHeader = "x-ms-tidemark-follow-up-queue";

}  // namespace tidemark::queue_service::rest
