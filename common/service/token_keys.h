// The bearer tokens that a store accepts: the settings, and the issuer's keys, from a file or an https URL. The keys
// are read again every hour, at SIGHUP, and when a token names an unknown key: at most once a minute, and every few
// seconds while they cannot be read, which leaves the old ones in force. Reading happens on a thread of its own.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/auth/token_check.h"
#include "common/process/config.h"

namespace tidemark::service {

struct TokenSettings {
  std::string issuer;
  std::string audience = "https://storage.azure.com";
  std::string keys;
  std::string keys_ca_file;
  std::string role_claim = "roles";
  std::string check = "full";
};
/// Declares the settings bearer_issuer, bearer_keys and so on.
void declare(process::Settings& settings, TokenSettings& tokens);

/// Thread safe.
class TokenKeys {
 public:
  /// Returns null if no issuer is configured. kConfigInvalid; a URL that does not answer is not an error: it is asked
  /// again.
  static Result<std::unique_ptr<TokenKeys>> create(const TokenSettings& settings);
  ~TokenKeys();
  TokenKeys(const TokenKeys&) = delete;
  TokenKeys& operator=(const TokenKeys&) = delete;

  [[nodiscard]] std::shared_ptr<auth::TokenCheck> check() const { return check_; }
  /// Reads the keys again soon.
  void reload();

 private:
  using Moment = std::chrono::steady_clock::time_point;
  explicit TokenKeys(const TokenSettings& settings);
  Result<void> read();
  /// Asks for a read because of a token with an unknown key: true if the keys are being read now, false if they were
  /// just before.
  bool want();
  void run();

  const std::string where_, ca_file_;
  const std::shared_ptr<auth::TokenCheck> check_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopping_ = false;  // set with the mutex
  bool wanted_ = false;                 // with the mutex
  Moment not_before_{};                 // with the mutex: no token makes the keys be read earlier
  std::thread thread_;
};

}  // namespace tidemark::service
