#include "workers/outbound/curl_http.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <netinet/in.h>
#include <thread>

#include "common/base/encoding.h"
#include "common/base/mutex.h"

namespace tidemark::workers {
namespace {

namespace ip = asio::ip;
using Completion = std::move_only_function<void(Result<OutboundReply>)>;

constexpr std::size_t kMaxHeaderBytes = 64UL << 10;
constexpr int kPollMs = 60'000;
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

std::optional<ip::address> address_of(const curl_sockaddr& from) {
  if (from.family == AF_INET && from.addrlen >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, &from.addr, sizeof in);
    return ip::address_v4(ntohl(in.sin_addr.s_addr));
  }
  if (from.family == AF_INET6 && from.addrlen >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, &from.addr, sizeof in);
    ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return ip::address_v6(bytes);
  }
  return std::nullopt;
}

/// One request from its submission to its completion; belongs to the thread of CurlHttp once that has taken it.
struct Transfer {
  OutboundRequest request;
  Executor executor;  // counts as work, so that the caller's context runs on until the answer
  Completion complete;
  const jobs::CallbackPolicy* policy = nullptr;
  std::unique_ptr<curl_slist, ListDeleter> headers;
  OutboundReply reply;
  std::size_t header_bytes = 0;
  std::optional<ip::address> refused;  // an address that the policy kept us from
  bool cut = false;                    // we have read enough
  char what[CURL_ERROR_SIZE] = {};
  std::unique_ptr<CURL, EasyDeleter> easy;  // goes first: it points to the above
};

void finish(Transfer& transfer, Result<OutboundReply> result) {
  asio::post(transfer.executor, [complete = std::move(transfer.complete), result = std::move(result)]() mutable {
    complete(std::move(result));
  });
}

curl_socket_t open_socket(void* of, curlsocktype, curl_sockaddr* to) {
  auto& transfer = *static_cast<Transfer*>(of);
  const auto address = address_of(*to);
  if (!address) return CURL_SOCKET_BAD;
  if (!transfer.policy->may_connect(transfer.request.url, *address)) {
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

/// What the answer's code says, or why there is none.
Result<OutboundReply> outcome_of(Transfer& transfer, CURLcode code) {
  const auto origin = transfer.request.url.origin();
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer.cut)) {
    long status = 0;
    curl_off_t wait_s = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RETRY_AFTER, &wait_s);
    transfer.reply.status = static_cast<unsigned>(status);
    if (wait_s > 0) transfer.reply.retry_after = std::chrono::seconds(wait_s);
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
  CurlHttp(CurlHttpOptions options, CURLM* multi)
      : options_(std::move(options)), multi_(multi), thread_([this] { run(); }) {}
  ~CurlHttp() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;

  Task<Result<OutboundReply>> send(OutboundRequest request) override {
    auto executor = co_await asio::this_coro::executor;
    auto initiate = [this, executor, &request](auto handler) {
      auto transfer = std::make_unique<Transfer>();
      transfer->request = std::move(request);
      transfer->policy = &options_.policy;
      transfer->executor = asio::prefer(executor, asio::execution::outstanding_work.tracked);
      transfer->complete = [handler = std::move(handler)](Result<OutboundReply> result) mutable {
        std::move(handler)(std::move(result));
      };
      submit(std::move(transfer));
    };
    co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Result<OutboundReply>)>(
        initiate, asio::use_awaitable);
  }

 private:
  void submit(std::unique_ptr<Transfer> transfer) {
    {
      MutexLock lock(mutex_);
      if (!stopping_) waiting_.push_back(std::move(transfer));
    }
    if (transfer) {
      finish(*transfer, fail(ErrorCode::kCancelled));
    } else {
      curl_multi_wakeup(multi_);
    }
  }

  void run() {
    while (true) {
      std::deque<std::unique_ptr<Transfer>> fresh;
      {
        MutexLock lock(mutex_);
        if (stopping_) break;
        fresh.swap(waiting_);
      }
      for (auto& transfer : fresh) begin(std::move(transfer));
      int running = 0;
      curl_multi_perform(multi_, &running);
      collect();
      curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
    }
    for (auto& [easy, transfer] : running_) {
      curl_multi_remove_handle(multi_, easy);
      finish(*transfer, fail(ErrorCode::kCancelled));
    }
    MutexLock lock(mutex_);
    for (auto& transfer : waiting_) finish(*transfer, fail(ErrorCode::kCancelled));
    running_.clear();
  }

  void begin(std::unique_ptr<Transfer> transfer) {
    transfer->easy.reset(curl_easy_init());
    if (!transfer->easy || !set_up(*transfer) || curl_multi_add_handle(multi_, transfer->easy.get()) != CURLM_OK) {
      finish(*transfer, fail(ErrorCode::kCallbackFailed, "The request could not be set up."));
      return;
    }
    auto* easy = transfer->easy.get();
    running_.emplace(easy, std::move(transfer));
  }

  bool set_up(Transfer& transfer) {
    auto* easy = transfer.easy.get();
    const auto& request = transfer.request;
    bool good = true;
    const auto set = [&](CURLoption option, auto value) {
      good = curl_easy_setopt(easy, option, value) == CURLE_OK && good;
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
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method != "GET" || !request.body.empty()) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data());
    }
    return good && set_headers(transfer) &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get()) == CURLE_OK;
  }

  static bool set_headers(Transfer& transfer) {
    bool typed = false;
    const auto add = [&](const std::string& line) {
      auto* longer = curl_slist_append(transfer.headers.get(), line.c_str());
      if (longer == nullptr) return false;
      static_cast<void>(transfer.headers.release());
      transfer.headers.reset(longer);
      return true;
    };
    for (const auto& [name, value] : transfer.request.headers) {
      typed = typed || iequals_ascii(name, "content-type");
      // "NAME;" is how libcurl writes a header without a value.
      if (!add(value.empty() ? name + ";" : name + ": " + value)) return false;
    }
    // What libcurl would add by itself.
    return add("Expect:") && (typed || add("Content-Type:"));
  }

  void collect() {
    int left = 0;
    while (const auto* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto found = running_.find(message->easy_handle);
      const auto code = message->data.result;
      curl_multi_remove_handle(multi_, message->easy_handle);
      if (found == running_.end()) continue;
      finish(*found->second, outcome_of(*found->second, code));
      running_.erase(found);
    }
  }

  const CurlHttpOptions options_;
  CURLM* const multi_;
  Mutex mutex_;
  std::deque<std::unique_ptr<Transfer>> waiting_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<CURL*, std::unique_ptr<Transfer>> running_;  // of the thread alone
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<OutboundHttp>> make_curl_http(CurlHttpOptions options) {
  static const CurlGlobal global;
  if (!options.ca_file.empty() && ::access(options.ca_file.c_str(), R_OK) != 0) {
    return fail(ErrorCode::kConfigInvalid, "callback_ca_file cannot be read: " + options.ca_file);
  }
  auto* multi = curl_multi_init();
  if (multi == nullptr) return fail(ErrorCode::kConfigInvalid, "libcurl cannot be set up");
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options.max_connections));
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(options.max_connections));
  return std::unique_ptr<OutboundHttp>(std::make_unique<CurlHttp>(std::move(options), multi));
}

}  // namespace tidemark::workers
