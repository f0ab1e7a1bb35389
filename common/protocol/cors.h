// CORS as in the storage services. Preflight requests are answered from the account's rules, without authentication.
// Actual requests are always served; the rules only add headers to the answers. CorsPolicies is thread safe, and the
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

/// The answer to OPTIONS. kInvalidHeaderValue, kCorsPreflightFailure.
Result<http::Response> answer_preflight(const CorsRules& rules, const http::Request& request);
/// Adds the headers to the answer to an actual request, also to an error.
void add_cors_headers(const CorsRules& rules, const http::Request& request, http::Response& response);

/// The current rules of each account. They are read from the stored properties once, so that no answer has to wait for
/// the database only to learn that there are none.
class CorsPolicies {
 public:
  /// Takes over the rules of the stored document that `read` returns, or none if it cannot be parsed. Only one thread
  /// reads at a time, so that of two concurrent changes the one that is later in the store wins; answers do not wait
  /// for it.
  template <class Read>
  void refresh(std::string_view account, Read read) {
    const MutexLock turn(refreshing_);
    const Result<std::string> stored = read();
    if (stored) take(account, *stored);
  }
  /// Tells whether any account has rules.
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  /// Null: the account has no rules.
  [[nodiscard]] std::shared_ptr<const CorsRules> rules_of(std::string_view account) const;
  /// Tells whether a rule lets a page of this origin send the request.
  [[nodiscard]] bool admits(std::string_view account, const http::Request& request) const;
  /// add_cors_headers() with the account's rules.
  void decorate(std::string_view account, const http::Request& request, http::Response& response) const;
  /// answer_preflight() with the account's rules.
  [[nodiscard]] Result<http::Response> preflight(std::string_view account, const http::Request& request) const;

 private:
  void take(std::string_view account, std::string_view stored);

  std::atomic<bool> any_ = false;  // so that most answers need no lock
  Mutex refreshing_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const CorsRules>, std::less<>> rules_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::protocol
