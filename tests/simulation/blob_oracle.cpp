#include "tests/simulation/blob_oracle.h"

#include <algorithm>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::simulation {
namespace {

histories::Moment moment_of(Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::size_t BlobOracle::begun(const std::string& blob, BlobState leaves) {
  auto& known = blobs_[blob];
  const auto number = known.states.size();
  if (leaves || known.states.back()) {
    histories::RegisterOperation operation;
    operation.invoked = moment_of(scheduler_.now());
    operation.outcome = histories::Outcome::kUnknown;
    operation.changes = {{leaves ? histories::Verb::kPut : histories::Verb::kErase, 0,
                          leaves ? static_cast<histories::Token>(number) : histories::kNothing}};
    known.places[number] = known.history.size();
    known.history.push_back(std::move(operation));
  }
  known.states.push_back(std::move(leaves));
  return number;
}

void BlobOracle::acknowledged(const std::string& blob, std::size_t operation, const OperationLedger& closed) {
  auto& known = blobs_[blob];
  const bool changes = known.states[operation] || known.states[operation - 1];
  if (closed.counter(kWritten) != (changes ? 1 : 0)) {
    violated("B2: operation " + std::to_string(operation) + " of " + blob + " is counted " +
             std::to_string(closed.counter(kWritten)) + " times");
  }
  known.acknowledged = operation;
  if (const auto place = known.places.find(operation); place != known.places.end()) {
    auto& write = known.history[place->second];
    write.outcome = histories::Outcome::kOk;
    write.returned = moment_of(scheduler_.now());
  }
  ++operations_;
}

void BlobOracle::overtaken(const std::string& blob, const Result<WriteOutcome>& outcome) {
  if (outcome && *outcome == WriteOutcome::kApplied) violated("B3: an attempt that was overtaken changed " + blob);
}

BlobOracle::Look BlobOracle::look_at(const std::string& blob) const {
  const auto found = blobs_.find(blob);
  const auto oldest = found == blobs_.end() ? 0 : std::max(found->second.acknowledged, found->second.shown);
  return {oldest, scheduler_.now()};
}

/// Each look is by somebody else: who looked before whom, times say.
void BlobOracle::note_read(Known& known, Look look, std::optional<histories::Token> seen) {
  histories::RegisterOperation read;
  read.invoked = moment_of(look.begun);
  read.returned = moment_of(scheduler_.now());
  read.client = static_cast<int>(known.history.size());
  read.asked = {0, 0, std::nullopt};
  if (seen) read.seen[0] = {*seen, *seen};
  known.history.push_back(std::move(read));
}

void BlobOracle::shown(const std::string& blob, Look look, const BlobState& state) {
  ++reads_;
  auto& known = blobs_[blob];
  const auto from = known.states.begin() + static_cast<std::ptrdiff_t>(look.oldest);
  const auto found = std::find(from, known.states.end(), state);
  if (found == known.states.end()) {
    return violated("B1: " + blob + " is " + (state ? state->substr(0, 20) : "not there") + " after operation " +
                    std::to_string(look.oldest));
  }
  const auto number = static_cast<std::size_t>(found - known.states.begin());
  known.shown = std::max(known.shown, number);
  note_read(known, look, state ? std::optional(static_cast<histories::Token>(number)) : std::nullopt);
}

void BlobOracle::listed(const std::string& blob, Look look, bool there) {
  auto& known = blobs_[blob];
  note_read(known, look, there ? std::optional(histories::kAnything) : std::nullopt);
  const auto from = known.states.begin() + static_cast<std::ptrdiff_t>(look.oldest);
  if (std::any_of(from, known.states.end(), [there](const auto& state) { return state.has_value() == there; })) return;
  violated("B1: " + blob + (there ? " is listed" : " is not listed") + " after operation " +
           std::to_string(look.oldest));
}

std::uint64_t BlobOracle::judge() {
  std::uint64_t not_judged = 0;
  for (const auto& [blob, known] : blobs_) {
    auto judgement = histories::judge(known.history);
    if (judgement.verdict == histories::Verdict::kNotJudged) ++not_judged;
    if (judgement.verdict == histories::Verdict::kWrong) violated("B6: " + blob + ": " + judgement.story);
  }
  return not_judged;
}

void BlobOracle::committed(std::size_t shard, const Committed& committed) {
  for (const auto& change : committed.noted.changes) {
    if (change.key.front() != 'B' || !change.value) continue;
    const auto blob = blob_store::records::kBlob.decode(*change.value);
    if (!blob) return violated("B4: a blob's row cannot be read");
    auto& last = versions_[{shard, change.key}];
    if (blob->version.ticks <= last) violated("B4: the version of a blob does not rise");
    last = blob->version.ticks;
  }
}

void BlobOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

}  // namespace tidemark::simulation
