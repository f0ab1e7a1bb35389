// Takes the steps of a transaction (jobs/kinds/transaction/transaction.h). The decision and the steps that were taken
// are known from the ledgers of the stores alone: a worker that takes over opens them under its epoch, which keeps
// earlier workers out, and goes on at the first step without a mark.
#include "jobs/kinds/transaction/transaction.h"

#include <functional>
#include <set>

#include "jobs/kinds/transaction/filled_steps.h"
#include "jobs/spec/job_trace.h"
#include "workers/kinds/callback.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {
namespace {

using jobs::FilledBlob;
using jobs::FilledCallback;
using jobs::FilledEntityStep;
using jobs::FilledMessage;
using jobs::FilledStep;
using nlohmann::json;
using table_store::Deciding;
using table_store::StepsRequest;
using table_store::StepsTaken;

/// How often a transaction is read again because an entity of a guard changed before the decision.
constexpr int kMostReadings = 20;

constexpr const char* kBrokenGuard = "broken";

class Transaction {
 public:
  Transaction(JobContext& context, jobs::TransactionSpec spec) : context_(context), spec_(std::move(spec)) {}

  Task<Result<JobOutcome>> run() {
    CO_TRY(context_.check());
    CO_TRY(co_await look_back());
    if (!decision_) CO_TRY(co_await decide());
    if (decision_->withdrawn) co_return co_await end_withdrawn();
    CO_TRY(co_await take_steps());
    CO_TRY(co_await close());
    JobOutcome outcome;
    if (!counts()) co_return outcome;
    outcome.done = steps_.size();
    outcome.total = steps_.size();
    co_return outcome;
  }

 private:
  [[nodiscard]] std::shared_ptr<table_store::TableClient> tables_in(const std::string& account) const {
    return context_.jobs.tables_in(account);
  }
  [[nodiscard]] std::shared_ptr<queue_service::QueueClient> queues_in(const std::string& account) const {
    if (account.empty() || account == context_.jobs.account()) return {std::shared_ptr<void>(), &context_.queues};
    return context_.queues.as(account);
  }
  /// kJobInvalid if this worker reaches no blobs.
  [[nodiscard]] Result<std::shared_ptr<blob_store::BlobClient>> blobs_in(const std::string& account) const {
    auto* blobs = context_.objects.blobs;
    if (blobs == nullptr) return fail(ErrorCode::kJobInvalid, "This worker reaches no blob store.");
    return blobs->as(account.empty() ? blobs->account() : account);
  }
  /// Returns the accounts in which this kind of step is taken, without repetitions.
  template <class Step>
  [[nodiscard]] std::set<std::string> accounts_of() const {
    std::set<std::string> out;
    for (const auto& step : spec_.steps) {
      if (const auto* it = std::get_if<Step>(&step)) out.insert(it->account);
    }
    return out;
  }
  /// Tells whether the job's progress is that of the steps: not if they are the end of other work.
  [[nodiscard]] bool counts() const { return context_.record().end_steps.empty(); }
  [[nodiscard]] table_store::Fence fence() const { return context_.fence(""); }

  /// The ledger of the operation in one account of one store.
  struct Ledger {
    std::function<Task<Result<OperationLedger>>()> open, close;
    std::function<bool(const jobs::StepSpec&)> has;  // the step is marked in it
    bool closed = false;
  };
  /// Lists the ledgers in the order in which they are closed: the tables, which have the decision, come last.
  Result<void> list_ledgers() {
    const auto add = [this](auto client, std::function<bool(const jobs::StepSpec&)> has) {
      const auto id = context_.job_id();
      const auto epoch = context_.epoch();
      const auto since = context_.record().edited_epoch;
      ledgers_.push_back({[=] { return client->open_operation(id, epoch, since); },
                          [=] { return client->close_operation(id, epoch, since); }, std::move(has)});
    };
    for (const auto& account : accounts_of<jobs::MessageStepSpec>()) {
      add(queues_in(account), is_in<jobs::MessageStepSpec>(account));
    }
    for (const auto& account : accounts_of<jobs::BlobStepSpec>()) {
      add(TRY(blobs_in(account)), is_in<jobs::BlobStepSpec>(account));
    }
    const auto in_tables = [](const jobs::StepSpec& step) {
      return !std::holds_alternative<jobs::MessageStepSpec>(step) && !std::holds_alternative<jobs::BlobStepSpec>(step);
    };
    for (const auto& account : jobs::ledger_accounts(context_.record())) add(tables_in(account), in_tables);
    return {};
  }
  template <class Step>
  static std::function<bool(const jobs::StepSpec&)> is_in(const std::string& account) {
    return [account](const jobs::StepSpec& step) {
      const auto* it = std::get_if<Step>(&step);
      return it != nullptr && it->account == account;
    };
  }

  /// Keeps earlier workers out, and learns what they did. Nothing was done before the first delivery.
  Task<Result<void>> look_back() {
    CO_TRY(list_ledgers());
    if (context_.epoch() == 1) co_return Result<void>{};
    co_return co_await open_ledgers();
  }

  Task<Result<void>> open_ledgers() {
    for (auto& ledger : ledgers_) {
      const auto opened = CO_TRY(co_await fail_points::kOpen.around(ledger.open()));
      for (const auto& mark : opened.steps) taken_.insert(mark.step);
      if (opened.decision) decision_ = opened.decision;
      ledger.closed = opened.closed;
    }
    if (decision_) CO_TRY(accept_decision());
    const bool withdrawn = decision_ && decision_->withdrawn;
    if (withdrawn || std::ranges::none_of(ledgers_, [&](const auto& each) { return cut_off(each); })) {
      co_return Result<void>{};
    }
    co_return fail(ErrorCode::kJobInvalid,
                   "The operation of this transaction was closed before all of its steps had been "
                   "taken, so nothing more can be done in its name.");
  }

  /// Tells whether the ledger was closed before all of its steps had been taken.
  [[nodiscard]] bool cut_off(const Ledger& ledger) const {
    if (!ledger.closed) return false;
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
      if (ledger.has(spec_.steps[i]) && !taken_.contains(static_cast<std::uint32_t>(i + 1))) return true;
    }
    return !decision_;
  }

  /// Fills in the steps by an earlier decision.
  Result<void> accept_decision() {
    if (decision_->withdrawn) return {};
    const auto values = TRY(jobs::values_in_note(spec_, decision_->note, taken_));
    steps_ = TRY(jobs::fill_in(spec_, values));
    return {};
  }

  /// Reads the guards, fills everything in, and decides. Sets decision_ and steps_.
  Task<Result<void>> decide() {
    for (int reading = 0; reading < kMostReadings; ++reading) {
      auto read = CO_TRY(co_await jobs::read_guards(jobs::reader_of(context_.jobs), spec_, context_.job_id()));
      if (read.broken) co_return co_await withdraw(*read.broken);
      steps_ = CO_TRY(jobs::fill_in(spec_, read.values));
      CO_TRY(co_await look_for_places());
      CO_TRY(context_.check());
      auto request = CO_TRY(deciding(Deciding::kGoesAhead));
      request.note = jobs::decision_note(spec_, read.values);
      request.guards = guards_in(spec_.deciding_account(), read.guards);
      request.steps = entity_steps_from(0, spec_.deciding_account());
      const auto permit = CO_TRY(co_await admit(0, request.steps));
      const auto taken = CO_TRY(co_await take_steps_in(spec_.deciding_account(), std::move(request)));
      if (taken.broken_guard) continue;  // an entity has changed since it was read
      decision_ = taken.decision;
      // Also at the first delivery, if it was begun together with others (runtime/small_transaction.h).
      if (taken.decided_before) co_return co_await open_ledgers();
      for (std::uint32_t number = 1; number <= taken.taken; ++number) taken_.insert(number);
      co_return Result<void>{};
    }
    co_return fail(ErrorCode::kServerBusy,
                   "The entities of the guards changed again and again before the transaction could be decided.");
  }

  Task<Result<void>> withdraw(const jobs::BrokenGuard& broken) {
    auto request = CO_TRY(deciding(Deciding::kWithdraws));
    request.note =
        json{{kBrokenGuard, jobs::to_json(spec_, broken)}}.dump(-1, ' ', false, json::error_handler_t::replace);
    const auto taken = CO_TRY(co_await take_steps_in(spec_.deciding_account(), std::move(request)));
    decision_ = taken.decision;
    co_return taken.decided_before ? accept_decision() : Result<void>{};
  }

  [[nodiscard]] Result<StepsRequest> deciding(Deciding what) const {
    StepsRequest request;
    request.fence = fence();
    request.deciding = what;
    request.at = TRY(jobs::deciding_place(spec_, context_.job_id()));
    return request;
  }

  /// Returns the guards in one account.
  [[nodiscard]] std::vector<table_store::Guard> guards_in(const std::string& account,
                                                          std::vector<table_store::Guard> read) const {
    std::vector<table_store::Guard> out;
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (spec_.guards[i].account == account) out.push_back(std::move(read[i]));
    }
    return out;
  }

  /// Returns the changes of entities in one account that begin at a step and follow each other.
  [[nodiscard]] std::vector<table_store::NumberedMutation> entity_steps_from(std::size_t first,
                                                                             const std::string& account) const {
    std::vector<table_store::NumberedMutation> out;
    for (auto i = first; i < steps_.size(); ++i) {
      const auto* step = std::get_if<FilledEntityStep>(&steps_[i]);
      if (step == nullptr || step->account != account) break;
      out.push_back(step->change);
    }
    return out;
  }

  /// Fails before anything is decided if a queue or a container is missing.
  Task<Result<void>> look_for_places() {
    std::set<std::pair<std::string, std::string>> queues, containers;
    for (const auto& step : steps_) {
      if (const auto* message = std::get_if<FilledMessage>(&step)) queues.emplace(message->account, message->queue);
      if (const auto* blob = std::get_if<FilledBlob>(&step)) containers.emplace(blob->account, blob->container);
    }
    for (const auto& [account, queue] : queues) {
      const auto there = co_await queues_in(account)->figures(queue);
      if (!there) co_return named("queue '" + queue + "'", there.error());
    }
    for (const auto& [account, container] : containers) {
      const auto blobs = CO_TRY(blobs_in(account));
      const auto there = co_await blobs->list(container, "", "");
      if (!there) co_return named("container '" + container + "'", there.error());
    }
    co_return Result<void>{};
  }

  static std::unexpected<Error> named(const std::string& what, Error error) {
    error.message = what + ": " + error.message;
    return fail(std::move(error));
  }
  /// Says which step failed.
  [[nodiscard]] std::unexpected<Error> failed_step(std::uint32_t number, Error error) const {
    const auto at = number - 1;
    const auto name = at < spec_.steps.size() ? std::string(jobs::name_of(spec_.steps[at])) : std::string();
    return named("steps[" + std::to_string(at) + "]: " + name, std::move(error));
  }

  /// Waits as long as the limits of the partitions require.
  Task<Result<StepPermit>> admit(std::uint64_t done, const std::vector<table_store::NumberedMutation>& steps) {
    std::vector<PartitionRef> places;
    for (const auto& step : steps) places.push_back({step.table, step.partition_key});
    return context_.admit(done, steps.size(), std::move(places));
  }

  Task<Result<StepsTaken>> take_steps_in(const std::string& account, StepsRequest request) {
    auto reply =
        CO_TRY(co_await fail_points::kTransactionSteps.around(tables_in(account)->take_steps(std::move(request))));
    if (auto* failure = std::get_if<table_store::StepFailure>(&reply)) {
      co_return failed_step(failure->number, std::move(failure->error));
    }
    co_return std::get<StepsTaken>(std::move(reply));
  }

  Task<Result<void>> take_steps() {
    for (std::size_t i = 0; i < steps_.size();) {
      CO_TRY(context_.check());
      if (taken_.contains(static_cast<std::uint32_t>(i + 1))) {
        ++i;
        continue;
      }
      if (counts()) {
        jobs::RecordChange progress;
        progress.done = i;
        progress.total = steps_.size();
        CO_TRY(co_await context_.report(std::move(progress), false));
      }
      if (const auto* entity = std::get_if<FilledEntityStep>(&steps_[i])) {
        i += CO_TRY(co_await change_entities(i, entity->account));
        continue;
      }
      const auto number = static_cast<std::uint32_t>(i + 1);
      auto taken = co_await std::visit([&](const auto& step) { return take(step, number); }, steps_[i]);
      if (!taken) co_return failed_step(number, std::move(taken.error()));
      ++i;
    }
    co_return Result<void>{};
  }

  /// Takes the step and those after it that are beside it. Returns their number.
  Task<Result<std::size_t>> change_entities(std::size_t first, std::string account) {
    StepsRequest request;
    request.fence = fence();
    request.steps = entity_steps_from(first, account);
    request.at = {request.steps.front().table, request.steps.front().partition_key};
    const auto permit = CO_TRY(co_await admit(first, request.steps));
    const auto taken = CO_TRY(co_await take_steps_in(account, std::move(request)));
    if (taken.taken == 0) co_return fail(ErrorCode::kFenced);  // somebody has withdrawn it
    co_return taken.taken;
  }

  Task<Result<void>> take(const FilledEntityStep&, std::uint32_t) { co_return fail(ErrorCode::kInternalError); }

  Task<Result<void>> take(const FilledMessage& step, std::uint32_t number) {
    auto message = step.message;
    message.step = queue_service::PutStep{fence(), number};
    CO_TRY(co_await fail_points::kTransactionMessage.around(
        queues_in(step.account)->put_placed(step.queue, std::move(message))));
    co_return Result<void>{};
  }

  Task<Result<void>> take(const FilledBlob& step, std::uint32_t number) {
    const auto blobs = CO_TRY(blobs_in(step.account));
    blob_store::NewContent content;
    content.headers.type = step.content_type;
    blob_store::FencedWrite write;
    write.fence = fence();
    write.step = number;
    CO_TRY(co_await fail_points::kTransactionBlob.around(
        blobs->put(step.container, step.name, std::move(content), step.bytes, std::move(write))));
    co_return Result<void>{};
  }

  /// Calls the endpoint, then notes that it was called: a worker that dies in between calls it again.
  Task<Result<void>> take(const FilledCallback& step, std::uint32_t number) {
    const SignedCall call{.spec = step.request,
                          .id = context_.job_id() + "." + std::to_string(number),
                          .attempt = context_.record().attempts,
                          .epoch = context_.epoch(),
                          .cause = jobs::chain_of(context_.spec()),
                          .trace = jobs::delivery_trace(context_.spec().trace, context_.job_id(), context_.epoch())};
    const auto sent = CO_TRY(co_await send_signed(context_.callbacks, context_.clock, call));
    CO_TRY(judge_reply(sent.reply, sent.origin, sent.secrets));
    StepsRequest request;
    request.fence = fence();
    request.marks = {number};
    CO_TRY(co_await take_steps_in(spec_.deciding_account(), std::move(request)));
    co_return Result<void>{};
  }

  /// Closes the operation in all stores, in which nothing is done in its name any more.
  Task<Result<void>> close() {
    CO_TRY(context_.check());
    for (const auto& ledger : ledgers_) {
      if (!ledger.closed) CO_TRY(co_await fail_points::kClose.around(ledger.close()));
    }
    co_return Result<void>{};
  }

  Task<Result<JobOutcome>> end_withdrawn() {
    CO_TRY(co_await close());
    JobOutcome outcome;
    outcome.state = jobs::JobState::kCancelled;
    outcome.phase = "withdrawn";
    outcome.done = 0;
    const auto note = json::parse(decision_->note, nullptr, false);
    if (!note.is_object() || !note.contains(kBrokenGuard)) co_return outcome;
    const auto& broken = note[kBrokenGuard];
    outcome.result = broken.dump(-1, ' ', false, json::error_handler_t::replace);
    outcome.error =
        "Guard " + std::to_string(broken.value("guard", 0)) + " does not hold: " + broken.value("reason", "") + ".";
    co_return outcome;
  }

  JobContext& context_;
  jobs::TransactionSpec spec_;
  std::vector<Ledger> ledgers_;
  std::optional<tidemark::Decision> decision_;
  std::set<std::uint32_t> taken_;  // the numbers of steps that have been taken
  std::vector<FilledStep> steps_;  // once it is decided that the transaction goes ahead
};

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::TransactionSpec spec) {
  return run_as<Transaction>(context, std::move(spec));
}

}  // namespace tidemark::workers
