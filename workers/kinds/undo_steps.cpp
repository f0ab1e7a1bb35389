#include "workers/kinds/undo_steps.h"

#include <map>
#include <set>

#include "jobs/kinds/transaction/filled_steps.h"
#include "jobs/store/end_steps.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using jobs::FilledEntityStep;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::StepEffect;

/// Each restoration is a step of the undo's own operation, with the number of the step that it takes back, so that it
/// is done once.
class UndoSteps {
 public:
  UndoSteps(JobContext& context, std::string job_id) : context_(context), job_id_(std::move(job_id)) {}

  Task<Result<JobOutcome>> run() {
    CO_TRY(co_await look_at_transaction());
    CO_TRY(co_await look_back());
    for (auto number = static_cast<std::uint32_t>(steps_.size()); number > 0; --number) {
      CO_TRY(context_.check());
      if (marks_.contains(number)) CO_TRY(co_await take_back(number));
    }
    CO_TRY(context_.check());
    for (const auto& account : accounts_) {
      if (!closed_.contains(account)) CO_TRY(co_await context_.close_in(*context_.jobs.tables_in(account)));
    }
    JobOutcome outcome;
    outcome.done = restored_;
    outcome.skipped = left_.size();
    outcome.result = nlohmann::json{{"restored", restored_}, {"left", left_}}.dump();
    co_return outcome;
  }

 private:
  /// Reads what the transaction did. If it is poison, nothing more is done in its name from now on.
  Task<Result<void>> look_at_transaction() {
    const auto record = CO_TRY(co_await context_.jobs.find(job_id_));
    if (!record) co_return fail(ErrorCode::kJobNotFound, "There is no job " + job_id_ + " to undo.");
    const auto spec = CO_TRY(jobs::work_left_of(*record));
    const auto* transaction = std::get_if<jobs::TransactionSpec>(&spec.work);
    if (transaction == nullptr) co_return fail(ErrorCode::kJobInvalid);
    accounts_ = jobs::ledger_accounts(*record);
    std::optional<tidemark::Decision> decision;
    for (const auto& account : accounts_) {
      const auto tables = context_.jobs.tables_in(account);
      if (record->state == jobs::JobState::kPoisoned) CO_TRY(co_await tables->end_operation(job_id_));
      auto ledger = CO_TRY(co_await tables->read_operation(job_id_));
      if (ledger.decision) decision = std::move(ledger.decision);
      for (auto& mark : ledger.steps) marks_.insert_or_assign(mark.step, std::move(mark.effect));
    }
    if (!decision || decision->withdrawn) co_return Result<void>{};
    const auto values = CO_TRY(jobs::values_in_note(*transaction, decision->note, {}));
    steps_ = CO_TRY(jobs::fill_in(*transaction, values));
    note_others(*transaction);
    co_return Result<void>{};
  }

  /// Notes the steps that cannot be taken back.
  void note_others(const jobs::TransactionSpec& spec) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (std::holds_alternative<FilledEntityStep>(steps_[i])) continue;
      leave(static_cast<std::uint32_t>(i + 1), "a " + std::string(jobs::name_of(spec.steps[i])) + " is not taken back");
    }
  }

  /// Keeps earlier workers out, and learns what they restored.
  Task<Result<void>> look_back() {
    if (context_.epoch() == 1) co_return Result<void>{};
    for (const auto& account : accounts_) {
      const auto tables = context_.jobs.tables_in(account);
      if (CO_TRY(co_await context_.open_in(*tables))) closed_.insert(account);
      for (const auto& mark : CO_TRY(co_await tables->read_operation(context_.job_id())).steps) {
        note_restored(mark.step, CO_TRY(table_store::decode_effect(mark.effect)).version);
      }
    }
    co_return Result<void>{};
  }

  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  static Key key_of(const FilledEntityStep& step) {
    return {step.account, step.change.table, step.change.partition_key, step.change.mutation.row_key};
  }
  void note_restored(std::uint32_t number, table_store::Version version) {
    if (number == 0 || number > steps_.size()) return;
    ++restored_;
    done_.insert(number);
    const auto* step = std::get_if<FilledEntityStep>(&steps_[number - 1]);
    if (step == nullptr) return;
    // If several steps changed one entity, the first one is taken back last.
    const auto [place, is_new] = versions_.try_emplace(key_of(*step), number, version);
    if (!is_new && number < place->second.first) place->second = {number, version};
  }

  Task<Result<void>> take_back(std::uint32_t number) {
    const auto* step = std::get_if<FilledEntityStep>(&steps_[number - 1]);
    if (step == nullptr || done_.contains(number)) co_return Result<void>{};
    const auto effect = CO_TRY(table_store::decode_effect(marks_.at(number)));
    if (!effect.kept) {
      leave(number, "the entity before was too large to be kept");
      co_return Result<void>{};
    }
    const auto changed = versions_.find(key_of(*step));
    const auto version = changed == versions_.end() ? effect.version : changed->second.second;
    const auto mutation = CO_TRY(restoration(*step, effect, version));
    if (!mutation) co_return Result<void>{};
    table_store::StepsRequest request;
    request.fence = context_.fence("");
    request.at = {step->change.table, step->change.partition_key};
    request.steps = {{number, step->change.table, step->change.partition_key, *mutation}};
    const auto tables = context_.jobs.tables_in(step->account);
    const auto reply = CO_TRY(co_await fail_points::kTransactionUndo.around(tables->take_steps(std::move(request))));
    if (const auto* failure = std::get_if<table_store::StepFailure>(&reply)) co_return stays(number, failure->error);
    const auto ledger = CO_TRY(co_await tables->read_operation(context_.job_id()));
    if (const auto* mark = ledger.find_step(number)) {
      note_restored(number, CO_TRY(table_store::decode_effect(mark->effect)).version);
    }
    co_return Result<void>{};
  }

  /// Returns the change that restores the entity if it still has this version (0: there is none); nothing if the step
  /// changed nothing.
  static Result<std::optional<Mutation>> restoration(const FilledEntityStep& step, const StepEffect& effect,
                                                     table_store::Version version) {
    Mutation out;
    out.row_key = step.change.mutation.row_key;
    if (effect.before) out.properties = TRY(table_store::properties_in(*effect.before));
    if (version == 0 && !effect.before) return std::nullopt;
    out.kind = version == 0 ? MutationKind::kInsert : effect.before ? MutationKind::kReplace : MutationKind::kErase;
    if (version != 0) out.if_version = version;
    return std::optional(std::move(out));
  }

  /// An entity that somebody else has changed stays as it is.
  Result<void> stays(std::uint32_t number, const Error& error) {
    switch (error.code) {
      case ErrorCode::kUpdateConditionNotSatisfied:
      case ErrorCode::kResourceNotFound:
      case ErrorCode::kEntityAlreadyExists:
      case ErrorCode::kTableNotFound:
        leave(number, "the entity has been changed since");
        return {};
      default:
        return fail(error);
    }
  }

  void leave(std::uint32_t number, std::string why) {
    if (marks_.contains(number) || !std::holds_alternative<FilledEntityStep>(steps_[number - 1])) {
      left_.push_back({{"step", number - 1}, {"why", std::move(why)}});
    }
  }

  JobContext& context_;
  std::string job_id_;
  std::vector<std::string> accounts_;
  std::set<std::string> closed_;  // the accounts in which an earlier worker has closed the operation
  std::vector<jobs::FilledStep> steps_;
  std::map<std::uint32_t, std::string> marks_;  // the effects of the steps that were taken, by number
  std::set<std::uint32_t> done_;                // the steps that have been taken back
  std::map<Key, std::pair<std::uint32_t, table_store::Version>> versions_;  // of the entities that have been restored
  std::uint64_t restored_ = 0;
  nlohmann::json left_ = nlohmann::json::array();
};

}  // namespace

Task<Result<JobOutcome>> run_undo_steps(JobContext& context, std::string job_id) {
  return run_as<UndoSteps>(context, std::move(job_id));
}

}  // namespace tidemark::workers
