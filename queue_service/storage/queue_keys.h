// The keyspace of the queue service. Parts are encoded as in kv/key_codec.h; all records begin with a format version.
//
//   queue        'q' text(account) text(queue)                   -> QueueRecord: generation, created, metadata, acl
//   properties   'p' text(account)                               -> service properties, canonical XML
//   generations  'n'                                             -> u64: the last generation given out
//   message      'm' u64(generation) 'v' u64(visible-at) u64(sequence)  -> MessageRecord
//   by id        'm' u64(generation) 'i' message id              -> u64(visible-at) u64(sequence)
//   figures      'm' u64(generation) 'c'                         -> FiguresRecord: messages, next sequence, last
//                                                                   immediate visible-at
//   dropped      'd' u64(generation)                             -> empty; its 'm' keys await a range delete
//
// A message row, its id row and the figures row change in one transaction. Every rewrite of a message takes a new
// sequence number, so a place in a queue, and with it a pop receipt, is never used twice. Clearing and deleting a queue
// gives it another generation, or none, and lists the old one as dropped.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/engine.h"
#include "queue_service/model/pop_receipt.h"

namespace tidemark::queue_service::keys {

std::string queue(std::string_view account, std::string_view name);
std::string queues_of(std::string_view account);  // prefix
/// The name in a key of `queues_of(account)`.
std::optional<std::string> queue_name(std::string_view key, std::string_view account);
std::string properties(std::string_view account);
std::string generations();
std::string message(std::uint64_t generation, const Place& place);
/// Messages with from <= place, visible-at <= `until`.
kv::KeyRange messages(std::uint64_t generation, const Place& from, Time until);
std::optional<Place> message_place(std::string_view key);
std::string by_id(std::uint64_t generation, std::string_view id);
std::string figures(std::uint64_t generation);
std::string dropped(std::uint64_t generation);
kv::KeyRange all_dropped();
std::optional<std::uint64_t> dropped_generation(std::string_view key);
kv::KeyRange everything_of(std::uint64_t generation);

}  // namespace tidemark::queue_service::keys
