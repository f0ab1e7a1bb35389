// The calls that the queue service answers (common/rpc/call.h). Their fields are in the order of the service's
// parameters.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue_service/model/message_requests.h"
#include "queue_service/model/queue_figures.h"

namespace tidemark::queue_service::calls {

struct EnsureQueue {
  static constexpr std::string_view kMethod = "queue.ensure";
  using Reply = void;
  std::string account, queue;
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
};

/// The service does not report messages that it could not hand over; it gives them back (make_undelivered_hook).
struct Receive {
  static constexpr std::string_view kMethod = "queue.receive";
  using Reply = std::vector<Message>;
  std::string account, queue;
  Duration visibility{}, wait{};
  std::string token;  // for CancelWait; empty: the wait cannot be cancelled
  std::uint32_t count = 1;
};

struct CancelWait {
  static constexpr std::string_view kMethod = "queue.cancel_wait";
  using Reply = void;
  std::string token;
};

struct Renew {
  static constexpr std::string_view kMethod = "queue.renew";
  using Reply = void;
  LeaseKey lease;
  Duration visibility{};
  std::optional<std::string> annotation;
  std::uint64_t sequence = 0;
};

struct Complete {
  static constexpr std::string_view kMethod = "queue.complete";
  using Reply = void;
  LeaseKey lease;
};

struct CompleteAll {
  static constexpr std::string_view kMethod = "queue.complete_all";
  using Reply = std::vector<bool>;
  std::string account, queue;
  std::vector<LeaseKey> leases;
};

struct Finish {
  static constexpr std::string_view kMethod = "queue.finish";
  using Reply = std::vector<Placed>;  // the follow-ups
  LeaseKey lease;
  std::vector<FollowUp> follow_ups;
};

struct Release {
  static constexpr std::string_view kMethod = "queue.release";
  using Reply = void;
  LeaseKey lease;
  Duration delay{};
  std::string annotation;
  bool count_attempt = true;
};

struct Move {
  static constexpr std::string_view kMethod = "queue.move";
  using Reply = Placed;
  LeaseKey lease;
  MoveRequest move;
};

struct ListMessages {
  static constexpr std::string_view kMethod = "queue.list";
  using Reply = MessagePage;
  std::string account, queue;
  std::uint32_t limit = 0;
  std::string continuation;
};

struct Find {
  static constexpr std::string_view kMethod = "queue.find";
  using Reply = std::optional<Message>;
  std::string account, queue, message_id;
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
};

struct Redrive {
  static constexpr std::string_view kMethod = "queue.redrive";
  using Reply = void;
  std::string account, queue, message_id;
  MoveRequest move;
  std::optional<std::uint64_t> epoch;
};

struct Figures {
  static constexpr std::string_view kMethod = "queue.figures";
  using Reply = QueueFigures;
  std::string account, queue;
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
};

struct SetParts {
  static constexpr std::string_view kMethod = "queue.set_parts";
  using Reply = void;
  std::string account, queue;
  std::uint32_t parts = 0;
};

}  // namespace tidemark::queue_service::calls
