// Knows what each blob may be. A blob is changed by one writer, an operation after the other, so that at any time it is
// as the last operation that was acknowledged left it, or as the one that is under way will.
//   B1  a read shows nothing older than what was acknowledged, or shown, before it began
//   B2  what an operation did is counted once
//   B3  an attempt that was overtaken by another one has no effect
//   B4  the version of a blob only rises, whoever owns its shard and whatever its clock says
// One thread.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/operation_ledger.h"
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

  /// The oldest operation that a read which begins now may show.
  [[nodiscard]] std::size_t oldest(const std::string& blob) const;
  void shown(const std::string& blob, std::size_t oldest, const BlobState& state);
  /// Likewise, if only this is known of it.
  void listed(const std::string& blob, std::size_t oldest, bool there);
  void committed(std::size_t shard, const Committed& committed);

  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }

 private:
  struct Known {
    std::vector<BlobState> states{std::nullopt};  // before all operations, and after each
    std::size_t acknowledged = 0, shown = 0;
  };
  void violated(std::string text);

  Scheduler& scheduler_;
  std::map<std::string, Known> blobs_;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> versions_;  // by shard and key
  std::uint64_t operations_ = 0, reads_ = 0;
};

}  // namespace tidemark::simulation
