// CORS as the storage services do it: preflight requests are answered from the account's rules before anybody is
// authenticated; actual requests are always served, and the rules only add headers. CorsPolicies is thread safe; the
// rest is pure. Facts: the services' REST documentation, "Cross-Origin Resource Sharing (CORS) support".
#pragma once
#include <atomic>
#include <map>
#include <memory>

#include "common/base/mutex.h"
#include "common/http/http.h"
#include "common/protocol/service_properties.h"

namespace tidemark::protocol {

using CorsRules = std::vector<CorsRule>;

/// The first rule that lets this origin use this method with all of these headers (a comma-separated list), or null.
const CorsRule* match_preflight(const CorsRules& rules, std::string_view origin, std::string_view method,
                                std::string_view headers);
/// The first rule for an actual request; without an origin only a rule for all origins can match.
const CorsRule* match_actual(const CorsRules& rules, std::optional<std::string_view> origin, std::string_view method);

/// The answer to OPTIONS. kInvalidHeaderValue, kCorsPreflightFailure.
Result<http::Response> answer_preflight(const CorsRules& rules, const http::Request& request);
/// Adds what an actual request's answer carries, failures included.
void add_cors_headers(const CorsRules& rules, const http::Request& request, http::Response& response);

/// The rules in force of each account, read once from the stored properties: an answer must not wait for the database
/// to learn that there are none.
class CorsPolicies {
 public:
  /// Takes over the rules of a stored document; of an unreadable one, none. `read` is called with the lock held, so
  /// that of two changes at the same time the later one in the store stays.
  template <class Read>
  void refresh(std::string_view account, Read read) {
    MutexLock lock(mutex_);
    Result<std::string> stored = read();
    if (stored) take(account, *stored);
  }
  /// Whether any account has rules.
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  /// Null: the account has no rules.
  [[nodiscard]] std::shared_ptr<const CorsRules> rules_of(std::string_view account) const;
  /// add_cors_headers() with the account's rules.
  void decorate(std::string_view account, const http::Request& request, http::Response& response) const;
  /// answer_preflight() with the account's rules.
  [[nodiscard]] Result<http::Response> preflight(std::string_view account, const http::Request& request) const;

 private:
  void take(std::string_view account, std::string_view stored) REQUIRES(mutex_);

  std::atomic<bool> any_ = false;  // lets the usual answer pass without the lock
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const CorsRules>, std::less<>> rules_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::protocol
