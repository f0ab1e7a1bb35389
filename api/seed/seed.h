// The first contents of a new stack, from a JSON file that a person writes:
//
//   {"tables":     {"People": [{"PartitionKey": "p", "RowKey": "r", "Name": "Ann"}], "Empty": []},
//    "queues":     {"letters": ["text of a message"]},
//    "containers": {"pictures": {"folder/a.txt": "its text"}},
//    "feeds":      {"People": {"values": "both"}},                   as PUT /v1/tables/NAME/feed takes it
//    "consumers":  {"People": {"mailer": {"after": "oldest"}}},      as PUT /v1/tables/NAME/consumers/GROUP takes it
//    "onChange":   {"People": {"told": {"queue": "letters"}}},       as PUT /v1/tables/NAME/onChange/ID takes it
//    "indexes":    {"by-name": {"kind": "copies", ...}}}              as PUT /v1/indexes/NAME takes it
//
// Things that exist already are left as they are, so that the same file may be used at every start.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "feeds/consumers/consumer_store.h"
#include "feeds/definition/feed_json.h"
#include "feeds/on_change/on_change_store.h"
#include "indexes/store/index_store.h"
#include "jobs/callbacks/callback_policy.h"
#include "queue_service/client/queue_client.h"
#include "table_store/client/table_client.h"

namespace tidemark::api {

inline constexpr std::size_t kMaxSeedBytes = 16UL << 20;

struct Seed {
  struct Row {
    std::string partition_key;
    table_store::Mutation insert;
  };
  std::map<std::string, std::vector<Row>> tables;
  std::map<std::string, std::vector<std::string>> queues;
  std::map<std::string, std::map<std::string, std::string>> containers;
  std::map<std::string, table_store::ChangeFeed> feeds;
  /// The first position, by table and group.
  std::map<std::string, std::map<std::string, std::string>> consumers;
  std::map<std::string, std::map<std::string, feeds::OnChangeRequest>> on_changes;
  std::map<std::string, indexes::Definition> indexes;
};

/// kConfigInvalid: the message names the place of the error in the text.
Result<Seed> parse_seed(std::string_view text);
/// kConfigInvalid: the message begins with the name of the file.
Result<Seed> read_seed(const std::string& path);

struct SeedStores {
  table_store::TableClient& tables;
  queue_service::QueueClient& queues;
  blob_store::BlobClient& blobs;
  indexes::IndexStore& indexes;
  feeds::ConsumerStore& consumers;
  feeds::OnChangeStore& on_changes;
  const jobs::CallbackPolicy& callbacks;
};
/// How many things of each type were created.
struct Seeded {
  std::size_t tables = 0, entities = 0, queues = 0, messages = 0, containers = 0, blobs = 0, feeds = 0, consumers = 0,
              on_changes = 0, indexes = 0;
};
/// Creates everything that does not exist. It may be repeated, and then goes on where it ended; only messages are put
/// once, when their queue is created. The stores must outlive it. kConfigInvalid, with a message that names the thing
/// that could not be created.
Task<Result<Seeded>> sow(SeedStores stores, Seed seed);

}  // namespace tidemark::api
