// The steps of a transaction with everything filled in, and the guards as they were read: what a worker does, and what
// a plan shows.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/base/async.h"
#include "jobs/kinds/transaction/transaction.h"
#include "queue_service/model/message_requests.h"
#include "table_store/model/steps.h"

namespace tidemark::jobs {

class JobStore;

struct FilledEntityStep {
  std::string account;
  table_store::NumberedMutation change;
};
struct FilledMessage {
  std::string account, queue;
  queue_service::PutRequest message;
};
struct FilledBlob {
  std::string account, container, name, content_type, bytes;
};
struct FilledCallback {
  CallbackSpec request;
};
using FilledStep = std::variant<FilledEntityStep, FilledMessage, FilledBlob, FilledCallback>;

/// Returns the steps, in order. kJobInvalid, with the place of the step: a property that a template names is not there,
/// a value is of the wrong type, or a key or a text is too long.
Result<std::vector<FilledStep>> fill_in(const TransactionSpec& spec, const ReadValues& values);

/// A guard that did not hold.
struct BrokenGuard {
  std::uint32_t number = 0;  // from 0
  std::string text;          // for people
  nlohmann::json found;      // the properties that the entity has, or null if there is none
};

/// The entities that the guards have read.
struct GuardsRead {
  std::vector<table_store::Guard> guards;  // with the versions that were read
  ReadValues values;                       // what the templates refer to
  std::optional<BrokenGuard> broken;       // the first one
};
/// Reads an entity of an account; an empty name stands for the jobs' account.
using EntityReader = std::function<Task<Result<std::optional<table_store::Entity>>>(
    std::string account, std::string table, std::string partition_key, std::string row_key)>;
EntityReader reader_of(const JobStore& store);
/// Reads the guards one by one, until one does not hold. kTableNotFound.
Task<Result<GuardsRead>> read_guards(const EntityReader& read_entity, const TransactionSpec& spec, std::string job_id);
/// Returns the note of a decision to go ahead: what the templates were filled in with, and which steps there were.
std::string decision_note(const TransactionSpec& spec, const ReadValues& values);
/// Returns the values in the note. kJobInvalid if the text has been edited since, and one of the steps that had been
/// `taken`, by their numbers, is another one now.
Result<ReadValues> values_in_note(const TransactionSpec& spec, const std::string& note,
                                  const std::set<std::uint32_t>& taken);
/// Returns the partition in deciding_account() whose shard decides; nothing: that of the operation's ledger. It follows
/// from the spec and the id alone, so all who decide meet there.
Result<std::optional<table_store::PartitionName>> deciding_place(const TransactionSpec& spec,
                                                                 const std::string& job_id);
/// Returns {"guard":0,"expected":...,"found":{...}}.
nlohmann::json to_json(const TransactionSpec& spec, const BrokenGuard& broken);

}  // namespace tidemark::jobs
