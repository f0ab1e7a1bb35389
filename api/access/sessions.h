// Browsers that have logged in with a token. A session is known by a random id, which the browser keeps in a cookie
// that no script can read; whatever changes something must also repeat the session's CSRF token, which no other page
// can read. Sessions are kept in memory alone: they end with the process. Thread safe.
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
  std::size_t most = 1000;  // for one more, the one that has been idle longest ends
};

struct Session {
  std::string token_digest;  // of the token that it was opened with
  std::string csrf;
  std::string name;                 // the digest of its id
  Duration opened_at{}, used_at{};  // Clock::monotonic()
};

class Sessions {
 public:
  Sessions(SessionLimits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  struct Opened {
    std::string id;
    Session session;
  };
  /// kInternalError if the system has no random numbers.
  Result<Opened> open(std::string token_digest);
  /// The session, which is used hereby; nothing if it has ended.
  std::optional<Session> use(std::string_view id);
  /// The same of one that was given before.
  std::optional<Session> use(const Session& session) { return use_named(session.name); }
  void close(std::string_view id);
  [[nodiscard]] Duration longest() const { return limits_.longest; }
  /// How long it lasts if nobody uses it from now on.
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

/// The value of Set-Cookie that gives the browser the id; an empty one takes it away.
std::string session_cookie(std::string_view id, bool secure, Duration longest);
/// The ids in a Cookie header: a browser may send several, of which one holds.
std::vector<std::string_view> session_ids(std::string_view cookies);

}  // namespace tidemark::api
