#include "api/rest/transaction_facts.h"

#include <algorithm>
#include <charconv>

#include "api/rest/api_routes.h"
#include "blob_store/client/blob_client.h"
#include "jobs/kinds/transaction/transaction.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

/// Takes what the ledger of one account in one store knows.
void add(TransactionFacts& facts, const OperationLedger& ledger) {
  for (const auto& mark : ledger.steps) facts.taken = std::max<std::uint64_t>(facts.taken, mark.step);
  if (!ledger.decision) return;
  facts.decision = ledger.decision->withdrawn ? "withdrawn" : "goesAhead";
  const auto note = json::parse(ledger.decision->note, nullptr, false);
  if (note.is_object() && note.contains("values")) facts.read = note["values"];
}

/// Returns the number of the step at which the job became poison; 0 if the error names none.
std::uint64_t failed_at(const std::string& error) {
  constexpr std::string_view kPlace = "steps[";
  if (!error.starts_with(kPlace)) return 0;
  std::uint64_t at = 0;
  const auto* begin = error.data() + kPlace.size();
  const auto read = std::from_chars(begin, error.data() + error.size(), at);
  return read.ec == std::errc() ? at : 0;
}

/// Messages are put under a ledger of the queue service, which is not asked: the record tells of them.
void add_messages(TransactionFacts& facts, const jobs::JobRecord& job, std::uint64_t steps) {
  if (facts.decision != "goesAhead") return;
  if (job.state == jobs::JobState::kSucceeded) facts.taken = steps;
  if (job.state == jobs::JobState::kRunning) facts.taken = std::max(facts.taken, job.done);
  if (job.state == jobs::JobState::kPoisoned) facts.taken = std::max(facts.taken, failed_at(job.error));
  facts.taken = std::min(facts.taken, steps);
}

}  // namespace

void TransactionFacts::members(jobs::SpecMembers& to) const {
  to.shows("decision", decision,
           {.meaning = "open: not decided yet; goesAhead: it happens, whatever dies; withdrawn: it never happens"});
  to.shows("taken", taken, {.meaning = "the first so many steps were taken"});
  to.shows_json("read", nlohmann::ordered_json{{"type", "object"}}, nlohmann::ordered_json(read),
                {.meaning = "what the guards have read, by guard and property, as far as templates name it"});
}

Task<std::optional<TransactionFacts>> transaction_facts(Api& api, const jobs::JobRecord& job) {
  if (job.kind != jobs::TransactionSpec::kName) co_return std::nullopt;
  const auto spec = jobs::parse_stored_spec(job.spec);
  const auto* transaction = spec ? std::get_if<jobs::TransactionSpec>(&spec->work) : nullptr;
  if (transaction == nullptr) co_return std::nullopt;
  TransactionFacts facts{"open", 0, {}};
  if (job.epoch == 0) co_return facts;  // no worker has begun it
  for (const auto& account : jobs::ledger_accounts(job)) {
    const auto ledger = co_await api.jobs.tables_in(account)->read_operation(job.id);
    if (!ledger) co_return std::nullopt;
    add(facts, *ledger);
  }
  if (transaction->writes_blobs() && api.objects.blobs != nullptr) {
    for (const auto& account : jobs::ledger_accounts(job)) {
      const auto blobs = api.objects.blobs->as(account.empty() ? api.objects.blobs->account() : account);
      if (const auto ledger = co_await blobs->read_operation(job.id)) add(facts, *ledger);
    }
  }
  add_messages(facts, job, transaction->steps.size());
  co_return facts;
}

}  // namespace tidemark::api
