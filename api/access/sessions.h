// The sessions of browsers that have logged in with a token. A session is known by a random id, which the browser keeps
// in a cookie that no script can read; a request that changes something must also repeat the session's CSRF token,
// which no other page can read. Sessions are kept in memory only: they end with the process. Thread safe.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/async.h"
#include "common/base/error.h"
#include "common/base/mutex.h"

namespace tidemark::api {

struct SessionLimits {
  Duration idle = std::chrono::minutes(30);
  Duration longest = std::chrono::hours(12);
  std::size_t most = 1000;  // if there is one more, the session that has been idle longest ends
};

struct Session {
  std::string token_digest;  // of the token with which it was opened
  std::string csrf;
  std::string name;                 // the digest of its id
  bool read_only = false;           // until its login is in the audit trail
  Duration opened_at{}, used_at{};  // Clock::monotonic()
};

class Sessions {
 public:
  Sessions(SessionLimits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  struct Opened {
    std::string id;
    Session session;
  };
  /// `read_only`: its login could not be entered into the audit trail. kInternalError if the system has no random
  /// numbers.
  Result<Opened> open(std::string token_digest, bool read_only = false);
  /// Gives a session that was opened read-only the rights of its token, once its login is in the audit trail.
  void admit_fully(const std::string& name);
  /// Returns the session and counts this as use of it; nothing if it has ended.
  std::optional<Session> use(std::string_view id);
  /// Does the same for a session that was returned before.
  std::optional<Session> use(const Session& session) { return use_named(session.name); }
  void close(std::string_view id);
  [[nodiscard]] Duration longest() const { return limits_.longest; }
  /// Returns how long the session lasts if nobody uses it from now on.
  [[nodiscard]] Duration left(const Session& session) const;

 private:
  std::optional<Session> use_named(const std::string& name);
  [[nodiscard]] bool ended(const Session& session, Duration now) const;
  void make_room(Duration now) REQUIRES(mutex_);

  const SessionLimits limits_;
  Clock& clock_;
  Mutex mutex_;
  std::unordered_map<std::string, Session> sessions_ GUARDED_BY(mutex_);  // by the digest of the id
};

/// Returns the value of Set-Cookie that gives the browser the id; an empty id removes the cookie.
std::string session_cookie(std::string_view id, bool secure, Duration longest);
/// Returns the ids in a Cookie header: a browser may send several, of which one is valid.
std::vector<std::string_view> session_ids(std::string_view cookies);

}  // namespace tidemark::api
