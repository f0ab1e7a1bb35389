// The calls that the queue service answers (common/rpc/call.h). Their fields are in the order of the service's
// parameters. A call with a place() is carried out by the process that serves the place; any process carries out the
// others.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/stored_policy.h"
#include "common/rpc/places.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/model/queue_figures.h"

namespace tidemark::queue_service::calls {

/// A queue by the name that clients know. The name of a part is refused (check_is_whole).
struct WholeQueue {
  std::string_view account, queue;
};
/// A queue, or a part of a spread queue.
struct QueueOrPart {
  std::string_view account, queue;
};

struct CreateQueue {
  static constexpr std::string_view kMethod = "queue.create";
  using Reply = bool;  // false: it existed already
  std::string account, name;
  Metadata metadata;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct EnsureQueue {
  static constexpr std::string_view kMethod = "queue.ensure";
  using Reply = void;
  std::string account, queue;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct DeleteQueue {
  static constexpr std::string_view kMethod = "queue.delete";
  using Reply = void;
  std::string account, name;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct Clear {
  static constexpr std::string_view kMethod = "queue.clear";
  using Reply = void;
  std::string account, name;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct GetAcl {
  static constexpr std::string_view kMethod = "queue.get_acl";
  using Reply = StoredPolicies;
  std::string account, name;
};

struct SetAcl {
  static constexpr std::string_view kMethod = "queue.set_acl";
  using Reply = void;
  std::string account, name;
  StoredPolicies acl;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct ListQueues {
  static constexpr std::string_view kMethod = "queue.list_queues";
  using Reply = std::pair<std::vector<std::string>, std::string>;  // names, and `from` of the next page, or nothing
  std::string account, prefix, from;
};

struct Put {
  static constexpr std::string_view kMethod = "queue.put";
  using Reply = Placed;
  std::string account, queue;
  PutRequest message;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

/// The service does not report messages that it could not hand over; it gives them back (make_undelivered_hook).
struct Receive {
  static constexpr std::string_view kMethod = "queue.receive";
  using Reply = std::vector<Message>;
  std::string account, queue;
  Duration visibility{}, wait{};
  std::string token;  // for CancelWait; empty: the wait cannot be cancelled
  std::uint32_t count = 1;
  KeyLimits limits = {};
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct CancelWait {
  static constexpr std::string_view kMethod = "queue.cancel_wait";
  using Reply = void;
  std::string token;
};

struct Update {
  static constexpr std::string_view kMethod = "queue.update";
  using Reply = Placed;
  LeaseKey holder;
  Duration visibility{};
  std::optional<std::string> text;
  [[nodiscard]] QueueOrPart place() const { return {holder.account, holder.queue}; }
};

struct Renew {
  static constexpr std::string_view kMethod = "queue.renew";
  using Reply = void;
  LeaseKey lease;
  Duration visibility{};
  std::optional<std::string> annotation;
  std::uint64_t sequence = 0;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

/// Renews leases of messages in one queue; replies for each whether it is still held.
struct RenewAll {
  static constexpr std::string_view kMethod = "queue.renew_all";
  using Reply = std::vector<bool>;
  std::string account, queue;
  std::vector<LeaseKey> leases;
  Duration visibility{};
  [[nodiscard]] QueueOrPart place() const { return {account, queue}; }
};

struct Complete {
  static constexpr std::string_view kMethod = "queue.complete";
  using Reply = void;
  LeaseKey lease;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

struct CompleteAll {
  static constexpr std::string_view kMethod = "queue.complete_all";
  using Reply = std::vector<bool>;
  std::string account, queue;
  std::vector<LeaseKey> leases;
  [[nodiscard]] QueueOrPart place() const { return {account, queue}; }
};

struct Finish {
  static constexpr std::string_view kMethod = "queue.finish";
  using Reply = std::vector<Placed>;  // the follow-ups
  LeaseKey lease;
  std::vector<FollowUp> follow_ups;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

struct Release {
  static constexpr std::string_view kMethod = "queue.release";
  using Reply = void;
  LeaseKey lease;
  Duration delay{};
  std::string annotation;
  bool count_attempt = true;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

struct Move {
  static constexpr std::string_view kMethod = "queue.move";
  using Reply = Placed;
  LeaseKey lease;
  MoveRequest move;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

struct ListMessages {
  static constexpr std::string_view kMethod = "queue.list";
  using Reply = MessagePage;
  std::string account, queue;
  std::uint32_t limit = 0;
  std::string continuation;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct Find {
  static constexpr std::string_view kMethod = "queue.find";
  using Reply = std::optional<Message>;
  std::string account, queue, message_id;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct Holds {
  static constexpr std::string_view kMethod = "queue.holds";
  using Reply = bool;
  std::string account;
  std::vector<std::string> queues;
  MessageName message;
};

struct Withdraw {
  static constexpr std::string_view kMethod = "queue.withdraw";
  using Reply = bool;
  std::string account;
  std::vector<std::string> queues;
  MessageName message;
};

struct Remove {
  static constexpr std::string_view kMethod = "queue.remove";
  using Reply = void;
  std::string account, queue, message_id;
  std::optional<std::uint64_t> epoch;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct Redrive {
  static constexpr std::string_view kMethod = "queue.redrive";
  using Reply = void;
  std::string account, queue, message_id;
  MoveRequest move;
  std::optional<std::uint64_t> epoch;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

/// The ledger of a transaction, whose steps put messages (PutStep).
struct OpenOperation {
  static constexpr std::string_view kMethod = "queue.open";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct CloseOperation {
  static constexpr std::string_view kMethod = "queue.close";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct Figures {
  static constexpr std::string_view kMethod = "queue.figures";
  using Reply = QueueFigures;
  std::string account, queue;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct AllFigures {
  static constexpr std::string_view kMethod = "queue.all_figures";
  using Reply = QueueFiguresPage;
  std::string account;
  std::uint32_t limit = 0;
  std::string continuation;
};

struct SetPaused {
  static constexpr std::string_view kMethod = "queue.set_paused";
  using Reply = void;
  std::string account, queue;
  bool paused = false;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

struct SetParts {
  static constexpr std::string_view kMethod = "queue.set_parts";
  using Reply = void;
  std::string account, queue;
  std::uint32_t parts = 0;
  [[nodiscard]] WholeQueue place() const { return {account, queue}; }
};

}  // namespace tidemark::queue_service::calls
