#include "workers/outbound/curl_http.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>

#include "common/base/encoding.h"
#include "common/base/mutex.h"

namespace tidemark::workers {
namespace {

namespace ip = asio::ip;

constexpr std::size_t kMaxHeaderBytes = 64UL << 10;
constexpr long kConnectTimeoutMs = 10'000;

struct CurlGlobal {
  CurlGlobal() { curl_global_init(CURL_GLOBAL_DEFAULT); }
};

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

using Easy = std::unique_ptr<CURL, EasyDeleter>;

std::optional<ip::address> address_of(const curl_sockaddr& from) {
  ip::tcp::endpoint endpoint;
  const bool internet = from.family == AF_INET || from.family == AF_INET6;
  if (!internet || from.addrlen > endpoint.capacity()) return std::nullopt;
  std::memcpy(endpoint.data(), &from.addr, from.addrlen);
  return endpoint.address();
}

/// One request while it is under way, on one thread.
struct Transfer {
  const OutboundRequest& request;
  const jobs::CallbackPolicy& policy;
  const std::atomic<bool>& stopping;
  std::unique_ptr<curl_slist, ListDeleter> headers = {};
  OutboundReply reply = {};
  std::size_t header_bytes = 0;
  std::optional<ip::address> refused = {};  // an address that the policy refused
  bool cut = false;                         // enough was read
  char what[CURL_ERROR_SIZE] = {};
  Easy easy = {};  // destroyed first: it points to the members above
};

curl_socket_t open_socket(void* of, curlsocktype, curl_sockaddr* to) {
  auto& transfer = *static_cast<Transfer*>(of);
  const auto address = address_of(*to);
  if (!address) return CURL_SOCKET_BAD;
  if (!transfer.policy.may_connect(transfer.request.url, *address)) {
    transfer.refused = address;
    return CURL_SOCKET_BAD;
  }
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

std::size_t take_header(char*, std::size_t size, std::size_t count, void* of) {
  auto& transfer = *static_cast<Transfer*>(of);
  transfer.header_bytes += size * count;
  return transfer.header_bytes > kMaxHeaderBytes ? 0 : size * count;
}

std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* of) {
  auto& transfer = *static_cast<Transfer*>(of);
  const auto length = size * count;
  const auto room = kMaxAnswerBytes - transfer.reply.body.size();
  transfer.reply.body.append(bytes, std::min(room, length));
  transfer.cut = length > room;
  return transfer.cut ? 0 : length;
}

/// Called about once a second, and at every step of the transfer.
int may_go_on(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(of)->stopping ? 1 : 0;
}

/// Returns the answer, or the reason why there is none.
Result<OutboundReply> outcome_of(Transfer& transfer, CURLcode code) {
  const auto origin = transfer.request.url.origin();
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer.cut)) {
    long status = 0;
    curl_off_t wait_s = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RETRY_AFTER, &wait_s);
    transfer.reply.status = static_cast<unsigned>(status);
    transfer.reply.retry_after = retry_after_of(wait_s);
    return std::move(transfer.reply);
  }
  if (transfer.refused && code == CURLE_COULDNT_CONNECT) {
    return fail(ErrorCode::kCallbackRefused, "Callbacks to " + origin + " are not allowed: it has the address " +
                                                 transfer.refused->to_string() +
                                                 ", which is not a public one, and is not in callback_private_hosts.");
  }
  const char* why = transfer.what[0] != 0 ? transfer.what : curl_easy_strerror(code);
  return fail(ErrorCode::kCallbackFailed, "No answer of " + origin + ": " + why);
}

class CurlHttp final : public OutboundHttp {
 public:
  explicit CurlHttp(CurlHttpOptions options) : options_(std::move(options)), threads_(options_.max_connections) {}
  ~CurlHttp() override {
    stopping_ = true;
    threads_.join();
  }
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;

  Task<Result<OutboundReply>> send(OutboundRequest request) override {
    return asio::co_spawn(threads_, perform(std::move(request)), asio::use_awaitable);
  }

 private:
  Task<Result<OutboundReply>> perform(OutboundRequest request) {
    Transfer transfer{request, options_.policy, stopping_};
    transfer.easy = take_easy();
    if (!transfer.easy || !set_up(transfer)) {
      co_return fail(ErrorCode::kCallbackFailed, "The request could not be set up.");
    }
    const auto code = curl_easy_perform(transfer.easy.get());
    if (stopping_) co_return fail(ErrorCode::kCancelled);
    auto outcome = outcome_of(transfer, code);
    curl_easy_reset(transfer.easy.get());  // keeps the connections
    MutexLock lock(mutex_);
    idle_.push_back(std::move(transfer.easy));
    co_return outcome;
  }

  /// Takes the handle that was used last, because its connections are the freshest.
  Easy take_easy() {
    MutexLock lock(mutex_);
    if (idle_.empty()) return Easy(curl_easy_init());
    auto easy = std::move(idle_.back());
    idle_.pop_back();
    return easy;
  }

  bool set_up(Transfer& transfer) {
    const auto& request = transfer.request;
    bool good = true;
    const auto set = [&](CURLoption option, auto value) {
      good = curl_easy_setopt(transfer.easy.get(), option, value) == CURLE_OK && good;
    };
    set(CURLOPT_URL, request.url.text.c_str());
    set(CURLOPT_PROTOCOLS_STR, request.url.tls ? "https" : "http");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count();
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(timeout, 1)));
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    set(CURLOPT_ERRORBUFFER, transfer.what);
    set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    set(CURLOPT_OPENSOCKETDATA, &transfer);
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_XFERINFOFUNCTION, &may_go_on);
    set(CURLOPT_XFERINFODATA, &transfer);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method != "GET" || !request.body.empty()) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data());
    }
    return good && set_headers(transfer) &&
           curl_easy_setopt(transfer.easy.get(), CURLOPT_HTTPHEADER, transfer.headers.get()) == CURLE_OK;
  }

  static bool set_headers(Transfer& transfer) {
    bool typed = false;
    const auto add = [&](const std::string& line) {
      auto* list = transfer.headers.release();
      auto* longer = curl_slist_append(list, line.c_str());
      transfer.headers.reset(longer != nullptr ? longer : list);
      return longer != nullptr;
    };
    for (const auto& [name, value] : transfer.request.headers) {
      typed = typed || iequals_ascii(name, "content-type");
      // "NAME;" is how libcurl writes a header without a value.
      if (!add(value.empty() ? name + ";" : name + ": " + value)) return false;
    }
    // Suppresses the headers that libcurl would add by itself.
    return add("Expect:") && (typed || add("Content-Type:"));
  }

  const CurlHttpOptions options_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::vector<Easy> idle_ GUARDED_BY(mutex_);
  asio::thread_pool threads_;
};

}  // namespace

Result<std::unique_ptr<OutboundHttp>> make_curl_http(CurlHttpOptions options) {
  static const CurlGlobal global;
  if (!options.ca_file.empty() && ::access(options.ca_file.c_str(), R_OK) != 0) {
    return fail(ErrorCode::kConfigInvalid, "callback_ca_file cannot be read: " + options.ca_file);
  }
  return std::make_unique<CurlHttp>(std::move(options));
}

}  // namespace tidemark::workers
