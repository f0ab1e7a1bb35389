#include "blob_store/storage/lent_payloads.h"

#include <utility>

#include "blob_store/storage/payload_files.h"

namespace tidemark::blob_store {
namespace {

constexpr Duration kMayBeNew = std::chrono::seconds(3);  // a process this young may not be known yet

}  // namespace

void LentPayloads::lend(std::string process, PayloadId upload) {
  const MutexLock lock(mutex_);
  uploads_.emplace(upload, Upload{clock_.monotonic(), std::move(process)});
}

void LentPayloads::lend(ReaderName reader, Readers::Ticket ticket) {
  const MutexLock lock(mutex_);
  readers_.emplace(std::move(reader), Reading{clock_.monotonic(), std::move(ticket)});
}

// A ticket is destroyed without the mutex, since that may begin a pass of the collector.
void LentPayloads::let_go(const ReaderName& reader) {
  MutexLock lock(mutex_);
  const auto reading = readers_.extract(reader);
  lock.unlock();
}

bool LentPayloads::is_over(Duration since, Duration longest, const std::string& process, const Lives& lives) const {
  const auto age = clock_.monotonic() - since;
  return age > longest || (age > kMayBeNew && !lives(process));
}

std::vector<PayloadId> LentPayloads::look(const Lives& lives, const IsPending& is_pending) {
  std::vector<Reading> gone;
  MutexLock lock(mutex_);
  for (auto at = readers_.begin(); at != readers_.end();) {
    const bool over = is_over(at->second.since, kMaxReading, at->first.process, lives);
    if (over) gone.push_back(std::move(at->second));
    at = over ? readers_.erase(at) : std::next(at);
  }
  const auto uploads = uploads_;
  lock.unlock();
  std::vector<PayloadId> ended, lost;
  for (const auto& [payload, upload] : uploads) {
    if (!is_pending(payload)) {
      ended.push_back(payload);
    } else if (is_over(upload.since, kLongestUpload, upload.process, lives)) {
      lost.push_back(payload);
    }
  }
  lock.lock();
  for (const auto payload : ended) uploads_.erase(payload);
  return lost;
}

bool LentPayloads::empty() const {
  const MutexLock lock(mutex_);
  return uploads_.empty() && readers_.empty();
}

void LentPayloads::forget_all() {
  MutexLock lock(mutex_);
  const auto readers = std::exchange(readers_, {});
  uploads_.clear();
  lock.unlock();
}

}  // namespace tidemark::blob_store
