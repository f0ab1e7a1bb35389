#include "tests/simulation/blob_oracle.h"

#include <algorithm>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::simulation {

std::size_t BlobOracle::begun(const std::string& blob, BlobState leaves) {
  auto& states = blobs_[blob].states;
  states.push_back(std::move(leaves));
  return states.size() - 1;
}

void BlobOracle::acknowledged(const std::string& blob, std::size_t operation, const OperationLedger& closed) {
  auto& known = blobs_[blob];
  const bool changes = known.states[operation] || known.states[operation - 1];
  if (closed.counter(kWritten) != (changes ? 1 : 0)) {
    violated("B2: operation " + std::to_string(operation) + " of " + blob + " is counted " +
             std::to_string(closed.counter(kWritten)) + " times");
  }
  known.acknowledged = operation;
  ++operations_;
}

void BlobOracle::overtaken(const std::string& blob, const Result<WriteOutcome>& outcome) {
  if (outcome && *outcome == WriteOutcome::kApplied) violated("B3: an attempt that was overtaken changed " + blob);
}

std::size_t BlobOracle::oldest(const std::string& blob) const {
  const auto found = blobs_.find(blob);
  return found == blobs_.end() ? 0 : std::max(found->second.acknowledged, found->second.shown);
}

void BlobOracle::shown(const std::string& blob, std::size_t oldest, const BlobState& state) {
  ++reads_;
  auto& known = blobs_[blob];
  const auto from = known.states.begin() + static_cast<std::ptrdiff_t>(oldest);
  const auto found = std::find(from, known.states.end(), state);
  if (found == known.states.end()) {
    return violated("B1: " + blob + " is " + (state ? state->substr(0, 20) : "not there") + " after operation " +
                    std::to_string(oldest));
  }
  known.shown = std::max(known.shown, static_cast<std::size_t>(found - known.states.begin()));
}

void BlobOracle::listed(const std::string& blob, std::size_t oldest, bool there) {
  const auto& states = blobs_[blob].states;
  const auto from = states.begin() + static_cast<std::ptrdiff_t>(oldest);
  if (std::any_of(from, states.end(), [there](const auto& state) { return state.has_value() == there; })) return;
  violated("B1: " + blob + (there ? " is listed" : " is not listed") + " after operation " + std::to_string(oldest));
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
