#include "api/access/sessions.h"

#include <algorithm>

#include "common/auth/bearer_token.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::api {
namespace {

constexpr std::string_view kCookie = "tidemark_session=";
constexpr std::size_t kMostCookies = 4;

std::string name_of(std::string_view id) { return sha256(id); }

}  // namespace

Result<Sessions::Opened> Sessions::open(std::string token_digest, bool read_only) {
  auto id = TRY(auth::random_token());
  auto csrf = TRY(auth::random_token());
  const auto now = clock_.monotonic();
  Session session{std::move(token_digest), std::move(csrf), name_of(id), read_only, now, now};
  const MutexLock lock(mutex_);
  make_room(now);
  sessions_.emplace(session.name, session);
  return Opened{std::move(id), std::move(session)};
}

std::optional<Session> Sessions::use(std::string_view id) { return use_named(name_of(id)); }

std::optional<Session> Sessions::use_named(const std::string& name) {
  const auto now = clock_.monotonic();
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(name);
  if (found == sessions_.end()) return std::nullopt;
  if (ended(found->second, now)) {
    sessions_.erase(found);
    return std::nullopt;
  }
  found->second.used_at = now;
  return found->second;
}

void Sessions::admit_fully(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(name);
  if (found != sessions_.end()) found->second.read_only = false;
}

void Sessions::close(std::string_view id) {
  const MutexLock lock(mutex_);
  sessions_.erase(name_of(id));
}

Duration Sessions::left(const Session& session) const {
  const auto now = clock_.monotonic();
  return std::max(Duration::zero(), std::min(limits_.idle, session.opened_at + limits_.longest - now));
}

bool Sessions::ended(const Session& session, Duration now) const {
  return now - session.used_at >= limits_.idle || now - session.opened_at >= limits_.longest;
}

void Sessions::make_room(Duration now) {
  std::erase_if(sessions_, [&](const auto& each) { return ended(each.second, now); });
  if (sessions_.size() < limits_.most) return;
  const auto oldest = std::ranges::min_element(sessions_, {}, [](const auto& each) { return each.second.used_at; });
  sessions_.erase(oldest);
}

std::string session_cookie(std::string_view id, bool secure, Duration longest) {
  const auto seconds = id.empty() ? 0 : std::chrono::duration_cast<std::chrono::seconds>(longest).count();
  return std::string(kCookie) + std::string(id) + "; Path=/; HttpOnly; SameSite=Strict" + (secure ? "; Secure" : "") +
         "; Max-Age=" + std::to_string(seconds);
}

std::vector<std::string_view> session_ids(std::string_view cookies) {
  std::vector<std::string_view> ids;
  while (!cookies.empty() && ids.size() < kMostCookies) {
    const auto end = std::min(cookies.find(';'), cookies.size());
    const auto item = trimmed(cookies.substr(0, end));
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    if (item.starts_with(kCookie)) ids.push_back(item.substr(kCookie.size()));
  }
  return ids;
}

}  // namespace tidemark::api
