// Knows what each blob may be. A blob is changed by one writer, an operation after the other.
//   B1  everything that was asked and seen of a blob has an order (tests/histories): so a read shows no state that is
//       older than one that was acknowledged, or shown, before it began
//   B2  what an operation did is counted once
//   B3  an attempt that was overtaken by another one has no effect
//   B4  the version of a blob only rises, whoever owns its shard and whatever its clock says
//   B5  is in blob_world.cpp
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

/// Nothing: there is no such blob.
using BlobState = std::optional<std::string>;

class BlobOracle {
 public:
  explicit BlobOracle(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// The number of the operation, which leaves the blob like this.
  std::size_t begun(const std::string& blob, BlobState leaves);
  void acknowledged(const std::string& blob, std::size_t operation, const OperationLedger& closed);
  void overtaken(const std::string& blob, const Result<WriteOutcome>& outcome);

  /// When something is asked, or answered.
  [[nodiscard]] histories::Moment now() const { return scheduler_.moment(); }
  void shown(const std::string& blob, histories::Moment asked, const BlobState& state);
  /// Likewise, if only this is known of it.
  void listed(const std::string& blob, histories::Moment asked, bool there);
  /// Once nothing happens any more.
  void judge();
  void committed(std::size_t shard, const Committed& committed);

  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }

 private:
  struct Known {
    std::vector<BlobState> states{std::nullopt};            // before all operations, and after each
    std::vector<histories::RegisterOperation> writes = {};  // each leaves the number of its operation
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
