// The payloads of a shard that other processes of the store use: they make files of payloads that this process has
// registered, and read contents that it keeps for them. Forgets the processes that have died. Thread safe.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/storage/readers.h"
#include "common/base/mutex.h"

namespace tidemark::blob_store {

class LentPayloads {
 public:
  explicit LentPayloads(const Clock& clock) : clock_(clock) {}

  /// The process is going to make the file of a pending payload.
  void lend(std::string process, PayloadId upload);
  /// A reader in another process, which gives its readers numbers of its own.
  struct ReaderName {
    std::string process;
    std::uint64_t number = 0;
    auto operator<=>(const ReaderName&) const = default;
  };
  void lend(ReaderName reader, Readers::Ticket ticket);
  void let_go(const ReaderName& reader);

  /// Tells whether the process with this name lives.
  using Lives = std::function<bool(const std::string& process)>;
  /// Tells whether a payload is still pending.
  using IsPending = std::function<bool(PayloadId)>;
  /// Forgets the readers of processes that have died, those that have read for too long, and the uploads that have
  /// ended. Returns the uploads that nobody goes on with; they are forgotten once they are no longer pending.
  std::vector<PayloadId> look(const Lives& lives, const IsPending& is_pending);
  [[nodiscard]] bool empty() const;
  /// The shard belongs to another process.
  void forget_all();

 private:
  struct Reading {
    Duration since{};
    Readers::Ticket ticket;
  };
  struct Upload {
    Duration since{};
    std::string process;
  };
  [[nodiscard]] bool is_over(Duration since, Duration longest, const std::string& process, const Lives& lives) const;

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<PayloadId, Upload> uploads_ GUARDED_BY(mutex_);
  std::map<ReaderName, Reading> readers_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::blob_store
