// The stored records of the queue service, version 1 of each. Decoding anything else is kCorruption. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "queue_service/model/message.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::queue_service {

struct SignedIdentifier {  // a stored access policy, as set
  std::string id;
  std::optional<std::string> start, expiry, permission;
};

struct QueueRecord {
  std::uint64_t generation = 0;
  Time created;
  Metadata metadata;
  std::vector<SignedIdentifier> acl;
};

struct FiguresRecord {
  std::uint64_t messages = 0;
  std::uint64_t next_sequence = 0;
  Time last_immediate;  // the latest visible-at given to a message that was to be visible at once
};

struct MessageRecord {
  Message message;  // next_visible is not stored here: the key has it
  /// Meant to be visible at once: it is, even if the clock jumped back behind its visible-at.
  bool immediate = false;
  /// The last delivery still holds it: its epoch is a lease. Ended by giving the message back or moving it.
  bool leased = false;
};

std::string encode(const QueueRecord& record);
std::string encode(const FiguresRecord& record);
std::string encode(const MessageRecord& record);
Result<QueueRecord> decode_queue(std::string_view bytes);
Result<FiguresRecord> decode_figures(std::string_view bytes);
Result<MessageRecord> decode_message(std::string_view bytes);

}  // namespace tidemark::queue_service
