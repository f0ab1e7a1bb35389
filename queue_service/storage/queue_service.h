// The queue service's operations, for both faces (rest/ and internal/). Every rule of the domain is here, in model/ or
// in queue_rows. Thread safe; coroutines resume on the caller's executor. Reads are synchronous: one snapshot, bounded.
// Errors are those of the protocol (kQueueNotFound, kMessageNotFound, kPopReceiptMismatch, limits) and kLeaseLost.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/random.h"
#include "common/kv/engine.h"
#include "queue_service/model/message.h"
#include "queue_service/model/queue_rules.h"
#include "queue_service/storage/queue_records.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {

enum class CreateOutcome { kCreated, kExistedAlready };

struct QueuePage {
  struct Item {
    std::string name;
    Metadata metadata;
  };
  std::vector<Item> queues;
  std::optional<std::string> next;  // the first queue of the next page
};

struct QueueProperties {
  Metadata metadata;
  std::uint64_t messages = 0;
};

struct PutRequest {
  std::string text;
  Duration delay{};
  std::optional<Duration> time_to_live;  // nothing: never expires
};

/// Where a message went, for the answers of put and update.
struct Placed {
  std::string id;
  std::string receipt;
  Time inserted, expires, next_visible;
};

/// A delivery as the holder knows it.
struct LeaseKey {
  std::string account, queue, message_id;
  std::uint64_t epoch = 0;
};

struct StoredPage {
  std::vector<Message> messages;
  std::string continuation;  // empty at the end
};

class QueueService {
 public:
  QueueService(kv::Engine& engine, Clock& clock, Random& random);
  ~QueueService();

  // Queues.
  /// kQueueAlreadyExists if it exists with other metadata.
  Task<Result<CreateOutcome>> create_queue(std::string account, std::string queue, Metadata metadata);
  /// Whatever metadata it has.
  Task<Result<void>> ensure_queue(std::string account, std::string queue);
  /// O(1): the name is free at once; the messages go in the background.
  Task<Result<void>> delete_queue(std::string account, std::string queue);
  /// In order, from `from` on, at most `limit` (1..5000).
  Result<QueuePage> list_queues(std::string_view account, std::string_view prefix, std::string_view from,
                                std::uint32_t limit);
  Task<Result<QueueProperties>> get_properties(std::string account, std::string queue);
  Task<Result<void>> set_metadata(std::string account, std::string queue, Metadata metadata);
  Result<std::vector<SignedIdentifier>> get_acl(std::string_view account, std::string_view queue);
  Task<Result<void>> set_acl(std::string account, std::string queue, std::vector<SignedIdentifier> acl);
  Result<std::string> get_service_properties(std::string_view account);  // empty if never set
  /// Replaces the document by what `change` makes of the stored one.
  Task<Result<void>> set_service_properties(std::string account,
                                            std::function<Result<std::string>(const std::string&)> change);

  // Messages, by receipt.
  Task<Result<Placed>> put(std::string account, std::string queue, PutRequest request);
  Task<Result<std::vector<TakenMessage>>> get(std::string account, std::string queue, std::uint32_t count,
                                              Duration visibility);
  Task<Result<std::vector<Message>>> peek(std::string account, std::string queue, std::uint32_t count);
  Task<Result<Placed>> update(std::string account, std::string queue, std::string id, std::string receipt,
                              Duration visibility, std::optional<std::string> text);
  Task<Result<void>> erase(std::string account, std::string queue, std::string id, std::string receipt);
  /// O(1), like delete_queue.
  Task<Result<void>> clear(std::string account, std::string queue);

  // Messages, by lease; see internal/queue_client.h.
  Task<Result<std::optional<Message>>> receive(std::string account, std::string queue, Duration visibility,
                                               Duration wait);
  Task<Result<void>> renew(LeaseKey lease, Duration visibility, std::optional<std::string> annotation);
  Task<Result<void>> complete(LeaseKey lease);
  Task<Result<void>> release(LeaseKey lease, Duration delay, std::string annotation, bool count_attempt);
  Task<Result<void>> move(LeaseKey lease, std::string to_queue, std::string annotation);

  // Messages, for people.
  Result<StoredPage> list(std::string_view account, std::string_view queue, std::uint32_t limit,
                          std::string_view continuation);
  Result<std::optional<Message>> find(std::string_view account, std::string_view queue, std::string_view id);
  Task<Result<void>> remove(std::string account, std::string queue, std::string id);
  Task<Result<void>> redrive(std::string account, std::string queue, std::string id, std::string to_queue,
                             std::optional<std::string> text, std::string annotation);

  /// Receivers that wait return with nothing, now and later.
  void begin_shutdown();
  /// Removes the messages of cleared and deleted queues; run once at start, and by itself after each such operation.
  Task<void> collect_garbage();

 private:
  struct Core;
  using Change = std::function<Result<void>(QueueRows&)>;
  Task<Result<void>> change_queue(const FailStep& step, std::string account, std::string queue, Change change);
  Task<Result<void>> change_leased(const FailStep& step, LeaseKey lease,
                                   std::function<void(QueueRows&, FoundMessage&)> change);
  Task<Result<Taken>> take(std::string account, std::string queue, std::uint32_t count, Duration visibility);
  Task<Result<void>> tidy(std::string account, std::string queue);
  std::shared_ptr<Core> core_;
};

}  // namespace tidemark::queue_service
