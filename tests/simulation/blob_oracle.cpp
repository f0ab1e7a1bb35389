#include "tests/simulation/blob_oracle.h"

#include <algorithm>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::simulation {
namespace {

constexpr histories::Row kRow = 0;  // a blob is one row

}  // namespace

std::size_t BlobOracle::begun(const std::string& blob, BlobState leaves) {
  auto& known = blobs_[blob];
  const auto number = known.states.size();
  histories::RegisterOperation write;
  write.invoked = now();
  write.outcome = histories::Outcome::kUnknown;
  write.changes = {{histories::Verb::kErase, kRow}};
  if (leaves) write.changes = {{histories::Verb::kPut, kRow, static_cast<histories::Token>(number)}};
  known.writes.push_back(std::move(write));
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
  auto& write = known.writes[operation - 1];
  write.returned = now();
  write.outcome = changes ? histories::Outcome::kOk : histories::Outcome::kRefused;
  if (!changes) write.refusal = histories::Refusal::kAbsent;
  ++operations_;
}

void BlobOracle::overtaken(const std::string& blob, const Result<WriteOutcome>& outcome) {
  if (outcome && *outcome == WriteOutcome::kApplied) violated("B3: an attempt that was overtaken changed " + blob);
}

void BlobOracle::shown(const std::string& blob, histories::Moment asked, const BlobState& state) {
  ++reads_;
  const auto& states = blobs_[blob].states;
  const auto found = std::ranges::find(states, state);
  if (found == states.end()) return violated("B1: " + blob + " shows what nobody wrote: " + state->substr(0, 20));
  note_read(blob, asked, state ? std::optional(static_cast<histories::Token>(found - states.begin())) : std::nullopt);
}

void BlobOracle::listed(const std::string& blob, histories::Moment asked, bool there) {
  note_read(blob, asked, there ? std::optional(histories::kAnything) : std::nullopt);
}

void BlobOracle::note_read(const std::string& blob, histories::Moment asked, std::optional<histories::Token> seen) {
  auto& reads = blobs_[blob].reads;
  histories::RegisterOperation read;
  read.invoked = asked;
  read.returned = now();
  read.client = static_cast<int>(reads.size()) + 1;  // a client for each read: only times order them
  read.asked = {kRow, kRow, std::nullopt};
  if (seen) read.seen[kRow] = {*seen, *seen};
  reads.push_back(std::move(read));
}

void BlobOracle::judge() {
  for (auto& [blob, known] : blobs_) {
    auto history = std::move(known.writes);
    history.insert(history.end(), known.reads.begin(), known.reads.end());
    const auto judgement = histories::judge(history);
    if (judgement.verdict == histories::Verdict::kRight) continue;
    const bool wrong = judgement.verdict == histories::Verdict::kWrong;
    violated("B1: " + blob + ": " + (wrong ? judgement.story : "its history takes too long to judge"));
  }
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
