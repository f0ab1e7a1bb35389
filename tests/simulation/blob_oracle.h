// Knows which states each blob may have. One writer changes a blob, one operation after the other.
//   B1  all writes and reads of a blob have an order (tests/histories), so a read shows no state that is older than one
//       that was acknowledged, or shown, before the read began
//   B2  the effect of an operation is counted once
//   B3  an attempt that was overtaken by another one has no effect
//   B4  the version of a blob only rises, no matter which process owns its shard and how its clock is set
//   B5  is checked in blob_world.cpp
// One thread.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/operation_ledger.h"
#include "tests/histories/registers.h"
#include "tests/simulation/watched_engine.h"

namespace tidemark::simulation {

inline constexpr const char* kWritten = "written";  // the counter of operations

/// The content of a blob; nothing if there is no such blob.
using BlobState = std::optional<std::string>;

class BlobOracle {
 public:
  explicit BlobOracle(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Notes an operation that leaves the blob in this state, and returns the operation's number.
  std::size_t begun(const std::string& blob, BlobState leaves);
  void acknowledged(const std::string& blob, std::size_t operation, const OperationLedger& closed);
  void overtaken(const std::string& blob, const Result<WriteOutcome>& outcome);

  /// The time of a question or an answer, for histories.
  [[nodiscard]] histories::Moment now() const { return scheduler_.moment(); }
  void shown(const std::string& blob, histories::Moment asked, const BlobState& state);
  /// Does the same as shown() for a listing, which tells only whether the blob is there.
  void listed(const std::string& blob, histories::Moment asked, bool there);
  /// Judges the histories; called when all is quiet.
  void judge();
  void committed(std::size_t shard, const Committed& committed);

  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }

 private:
  struct Known {
    std::vector<BlobState> states{std::nullopt};            // before all operations, and after each of them
    std::vector<histories::RegisterOperation> writes = {};  // the token of a write is the number of its operation
    std::vector<histories::RegisterOperation> reads = {};
  };
  void violated(std::string text);
  void note_read(const std::string& blob, histories::Moment asked, std::optional<histories::Token> seen);

  Scheduler& scheduler_;
  std::map<std::string, Known> blobs_;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> versions_;  // by shard and key
  std::uint64_t operations_ = 0, reads_ = 0;
};

}  // namespace tidemark::simulation
