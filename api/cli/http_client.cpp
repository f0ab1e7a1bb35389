#include "api/cli/http_client.h"

#include <curl/curl.h>

#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kMaxBodyBytes = 256UL << 20;
constexpr long kConnectTimeoutMs = 10'000;
// A server that sends nothing for so long is given up. Streams of events have a sign of life every ten seconds.
constexpr long kSilentRequestS = 300;
constexpr long kSilentStreamS = 30;

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void append(HeaderList& list, const std::string& line) {
  if (auto* longer = curl_slist_append(list.get(), line.c_str())) {
    static_cast<void>(list.release());
    list.reset(longer);
  }
}

/// `Expect` and, of a body, `Content-Type` are what libcurl would add of its own accord.
HeaderList list_of(const HttpHeaders& headers) {
  HeaderList list;
  append(list, "Expect:");
  bool typed = false;
  for (const auto& [name, value] : headers) {
    typed = typed || iequals_ascii(name, "content-type");
    append(list, name + ": " + value);
  }
  if (!typed) append(list, "Content-Type:");
  return list;
}

}  // namespace

struct HttpClient::Transfer {
  CURL* easy;
  std::string method, url;
  HeaderList headers;
  std::string_view body;
  const std::function<void(std::string_view)>* each = nullptr;  // of a stream
  HttpReply reply = {};
  char what[CURL_ERROR_SIZE] = {};

  void set_up(const std::string& ca_file);
  /// libcurl's callback for a piece of the answer's body.
  static std::size_t take(char* bytes, std::size_t size, std::size_t count, void* of);
};

void HttpClient::Transfer::set_up(const std::string& ca_file) {
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  curl_easy_reset(easy);  // keeps the connection
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, each != nullptr ? kSilentStreamS : kSilentRequestS);
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_CUSTOMREQUEST, method.c_str());
  if (method != "GET") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_POSTFIELDS, body.data());
  }
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(what));
  set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  set(CURLOPT_WRITEDATA, this);
}

std::size_t HttpClient::Transfer::take(char* bytes, std::size_t size, std::size_t count, void* of) {
  auto& transfer = *static_cast<Transfer*>(of);
  const std::string_view piece(bytes, size * count);
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.each != nullptr && status < 400) {
    (*transfer.each)(piece);
  } else if (transfer.reply.body.size() + piece.size() <= kMaxBodyBytes) {
    transfer.reply.body += piece;
  } else {
    return 0;
  }
  return piece.size();
}

std::string HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (iequals_ascii(key, name)) return value;
  }
  return {};
}

HttpClient::HttpClient(std::string base_url, std::string ca_file, Handle handle)
    : base_url_(std::move(base_url)), ca_file_(std::move(ca_file)), handle_(std::move(handle)) {
  const auto slash = base_url_.find('/', base_url_.find("://") + 3);
  if (slash != std::string::npos) prefix_ = base_url_.substr(slash);
}

Result<HttpClient> HttpClient::create(std::string base_url, std::string ca_file) {
  if (!base_url.starts_with("http://") && !base_url.starts_with("https://")) {
    return fail(ErrorCode::kConfigInvalid, "\"" + base_url + "\" is not an http:// or https:// URL");
  }
  while (base_url.ends_with('/')) base_url.pop_back();
  Handle handle(curl_easy_init(), &curl_easy_cleanup);
  if (!handle) return fail(ErrorCode::kInternalError, "libcurl cannot be set up");
  return HttpClient(std::move(base_url), std::move(ca_file), std::move(handle));
}

Result<HttpReply> HttpClient::send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                                   std::string_view body) {
  Transfer transfer{handle_.get(), method, base_url_ + path, list_of(headers), body};
  return perform(transfer);
}

Result<HttpReply> HttpClient::stream(const std::string& path, const HttpHeaders& headers,
                                     const std::function<void(std::string_view)>& each) {
  Transfer transfer{handle_.get(), "GET", base_url_ + path, list_of(headers), {}, &each};
  return perform(transfer);
}

Result<HttpReply> HttpClient::perform(Transfer& transfer) {
  transfer.set_up(ca_file_);
  if (const auto code = curl_easy_perform(transfer.easy); code != CURLE_OK) {
    const std::string why = transfer.what[0] != 0 ? transfer.what : curl_easy_strerror(code);
    const auto* hint = code == CURLE_COULDNT_CONNECT ? "; is the stack up? Try: scripts/stack up" : "";
    return fail(ErrorCode::kUnavailable, "cannot reach " + base_url_ + " (" + why + ")" + hint);
  }
  long status = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<unsigned>(status);
  curl_header* header = nullptr;
  while ((header = curl_easy_nextheader(transfer.easy, CURLH_HEADER, -1, header)) != nullptr) {
    transfer.reply.headers.emplace_back(header->name, header->value);
  }
  return std::move(transfer.reply);
}

}  // namespace tidemark::cli
