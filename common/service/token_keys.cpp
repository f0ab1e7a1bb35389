#include "common/service/token_keys.h"

#include <curl/curl.h>

#include "common/base/log.h"
#include "common/base/small_file.h"
#include "common/base/text.h"

namespace tidemark::service {
namespace {

constexpr auto kReadAgainAfter = std::chrono::hours(1);
// The least time before a token makes the keys be read again: after a read, and after a failed one.
constexpr auto kLeastBetweenReads = std::chrono::minutes(1);
constexpr auto kLeastBetweenTries = std::chrono::seconds(5);
constexpr long kFetchTimeoutMs = 10'000;
constexpr std::size_t kMaxBytes = 256UL << 10;

bool is_url(std::string_view where) { return where.starts_with("https://"); }

/// libcurl's callback; 0 ends the transfer.
std::size_t take(char* bytes, std::size_t size, std::size_t count, void* text) {
  auto& out = *static_cast<std::string*>(text);
  if (out.size() + size * count > kMaxBytes) return 0;
  out.append(bytes, size * count);
  return size * count;
}

/// libcurl's callback, many times a second; anything but 0 ends the transfer.
int end_if(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
}

Result<std::string> fetch(const std::string& url, const std::string& ca_file, std::atomic<bool>& stopping) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
  if (!easy) return fail(ErrorCode::kInternalError, "libcurl cannot be set up");
  std::string text;
  char what[CURL_ERROR_SIZE] = {};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_TIMEOUT_MS, kFetchTimeoutMs);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &end_if);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&stopping));
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(what));
  set(CURLOPT_WRITEFUNCTION, &take);
  set(CURLOPT_WRITEDATA, &text);
  const auto code = curl_easy_perform(easy.get());
  if (code == CURLE_OK) return text;
  return fail(ErrorCode::kUnavailable, what[0] != 0 ? what : curl_easy_strerror(code));
}

std::vector<std::string> audiences_of(std::string_view list) {
  std::vector<std::string> audiences;
  while (!list.empty()) {
    const auto item = trimmed(take_item(list));
    if (!item.empty()) audiences.emplace_back(item);
  }
  return audiences;
}

Result<void> check_settings(const TokenSettings& settings) {
  const auto wrong = [](const char* why) { return fail(ErrorCode::kConfigInvalid, why); };
  if (audiences_of(settings.audience).empty()) return wrong("bearer_audience: name at least one audience");
  if (settings.check == "basic") return {};
  if (settings.keys.empty()) return wrong("bearer_keys: name the issuer's key set (JWKS), a file or an https:// URL");
  if (settings.keys.starts_with("http://")) return wrong("bearer_keys: the URL of the key set must be https://");
  return {};
}

}  // namespace

void declare(process::Settings& settings, TokenSettings& tokens) {
  settings.add("bearer_issuer", tokens.issuer,
               "issuer (iss) whose bearer tokens are accepted, over HTTPS; empty: none are");
  settings.add("bearer_audience", tokens.audience, "audiences (aud) of tokens that are accepted, separated by commas");
  settings.add("bearer_keys", tokens.keys,
               "the issuer's key set (JWKS): a file, or an https:// URL that is read every hour");
  settings.add("bearer_keys_ca_file", tokens.keys_ca_file,
               "certificates (PEM) to trust for that URL, instead of the system's");
  settings.add("bearer_role_claim", tokens.role_claim,
               "claim that holds the roles, such as \"Storage Blob Data Reader\"");
  settings.add_choice("bearer_check", tokens.check, {"full", "basic"},
                      "basic: do not check the signature of tokens, so that anybody can make one; only for tests");
}

Result<std::unique_ptr<TokenKeys>> TokenKeys::create(const TokenSettings& settings) {
  if (settings.issuer.empty()) return std::unique_ptr<TokenKeys>();
  TRY(check_settings(settings));
  std::unique_ptr<TokenKeys> keys(new TokenKeys(settings));
  if (settings.check == "basic") {
    log_warning("bearer_check=basic: the signatures of bearer tokens are not checked, anybody can make one");
    return keys;
  }
  if (const auto read = keys->read(); !read && !is_url(settings.keys)) {
    return fail(ErrorCode::kConfigInvalid, "bearer_keys: " + settings.keys + ": " + read.error().message + ".");
  }
  keys->check_->when_unknown([raw = keys.get()] { return raw->want(); });
  keys->thread_ = std::thread([raw = keys.get()] { raw->run(); });
  return keys;
}

TokenKeys::TokenKeys(const TokenSettings& settings)
    : where_(settings.keys),
      ca_file_(settings.keys_ca_file),
      check_(std::make_shared<auth::TokenCheck>(auth::TokenRules{settings.issuer, audiences_of(settings.audience),
                                                                 settings.role_claim, settings.check != "basic"})) {}

TokenKeys::~TokenKeys() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  check_->when_unknown({});
}

void TokenKeys::reload() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_all();
}

bool TokenKeys::want() {
  const std::lock_guard lock(mutex_);
  if (wanted_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < not_before_) return false;
  not_before_ = now + kLeastBetweenReads;
  wanted_ = true;
  changed_.notify_all();
  return true;
}

Result<void> TokenKeys::read() {
  const auto text = is_url(where_) ? fetch(where_, ca_file_, stopping_) : read_small_file(where_, kMaxBytes);
  auto keys = text ? auth::WebKeys::read(*text) : Result<auth::WebKeys>(std::unexpected(text.error()));
  if (!keys) {
    log_error("the keys of the token issuer cannot be read from={} reason=\"{}\"", where_, keys.error().message);
    return fail(keys.error());
  }
  log_info("the keys of the token issuer were read from={} count={}", where_, keys->size());
  check_->use(std::move(*keys));
  return {};
}

void TokenKeys::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, kReadAgainAfter, [this] { return wanted_ || stopping_; });
    if (stopping_) return;
    lock.unlock();
    const auto outcome = read();  // read() has logged the failure
    lock.lock();
    if (!outcome) not_before_ = std::chrono::steady_clock::now() + kLeastBetweenTries;
    wanted_ = false;
  }
}

}  // namespace tidemark::service
