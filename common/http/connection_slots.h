// Counts the open connections, in all and from each address; the addresses of one IPv6 network count as one.
// Thread-safe.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <map>
#include <string>

#include "common/base/mutex.h"
#include "common/http/host_name.h"

namespace tidemark::http {

class ConnectionSlots {
 public:
  enum class Verdict : std::uint8_t { kTaken, kFull, kTooManyOfAddress };

  ConnectionSlots(std::size_t most, std::size_t most_of_address) : most_(most), most_of_address_(most_of_address) {}

  /// Each slot that was taken needs a leave(). `over` takes a slot even if all are taken, in exchange for a connection
  /// that closes.
  Verdict take(const boost::asio::ip::address& address, bool over = false) {
    MutexLock lock(mutex_);
    const auto network = network_of(address.to_string());
    const auto found = by_network_.find(network);
    if (found != by_network_.end() && found->second >= most_of_address_) return Verdict::kTooManyOfAddress;
    if (open_ >= most_ && !over) return Verdict::kFull;
    ++open_;
    ++by_network_[network];
    return Verdict::kTaken;
  }
  void leave(const boost::asio::ip::address& address) {
    MutexLock lock(mutex_);
    --open_;
    const auto found = by_network_.find(network_of(address.to_string()));
    if (--found->second == 0) by_network_.erase(found);
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
  std::map<std::string, std::size_t> by_network_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::http
