// How many connections are open, in all and from each address. Thread-safe.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <map>

#include "common/base/mutex.h"

namespace tidemark::http {

class ConnectionSlots {
 public:
  enum class Verdict : std::uint8_t { kTaken, kFull, kTooManyOfAddress };

  ConnectionSlots(std::size_t most, std::size_t most_of_address) : most_(most), most_of_address_(most_of_address) {}

  /// Call leave() for each that was taken. `over` takes one even if all slots are taken, instead of one that closes.
  Verdict take(const boost::asio::ip::address& address, bool over = false) {
    MutexLock lock(mutex_);
    auto& of_address = by_address_[address];
    auto verdict = Verdict::kTaken;
    if (of_address >= most_of_address_) verdict = Verdict::kTooManyOfAddress;
    if (open_ >= most_ && !over) verdict = Verdict::kFull;
    if (verdict == Verdict::kTaken) {
      ++open_;
      ++of_address;
    }
    if (of_address == 0) by_address_.erase(address);
    return verdict;
  }
  void leave(const boost::asio::ip::address& address) {
    MutexLock lock(mutex_);
    --open_;
    const auto found = by_address_.find(address);
    if (--found->second == 0) by_address_.erase(found);
  }
  [[nodiscard]] std::size_t open() const {
    MutexLock lock(mutex_);
    return open_;
  }

 private:
  const std::size_t most_;
  const std::size_t most_of_address_;
  mutable Mutex mutex_;
  std::size_t open_ GUARDED_BY(mutex_) = 0;
  std::map<boost::asio::ip::address, std::size_t> by_address_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::http
