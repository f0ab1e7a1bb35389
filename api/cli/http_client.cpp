#include "api/cli/http_client.h"

#include <curl/curl.h>

#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kMaxBodyBytes = 256UL << 20;
constexpr long kConnectTimeoutMs = 10'000;
// A request is given up when the server has sent nothing for this time. Streams of events send a sign of life every ten
// seconds.
constexpr long kSilentRequestS = 300;
constexpr long kSilentStreamS = 30;

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void append(HeaderList& list, const std::string& line) { list.reset(curl_slist_append(list.release(), line.c_str())); }

/// `Expect` and, with a body, `Content-Type` are headers that libcurl would add by itself.
HeaderList list_of(const HttpHeaders& headers) {
  HeaderList list(nullptr, &curl_slist_free_all);
  append(list, "Expect:");
  bool typed = false;
  for (const auto& [name, value] : headers) {
    typed = typed || iequals_ascii(name, "content-type");
    append(list, name + ": " + value);
  }
  if (!typed) append(list, "Content-Type:");
  return list;
}

/// An answer that is being received.
struct Transfer {
  CURL* easy;
  const TakePiece* each;
  HttpReply reply = {};

  /// libcurl's callback for a piece of the answer's body.
  static std::size_t take(char* bytes, std::size_t size, std::size_t count, void* of) {
    auto& transfer = *static_cast<Transfer*>(of);
    const std::string_view piece(bytes, size * count);
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.reply.status);
    if (transfer.each != nullptr && transfer.reply.status < 400) {
      (*transfer.each)(piece);
    } else if (transfer.reply.body.size() + piece.size() <= kMaxBodyBytes) {
      transfer.reply.body += piece;
    } else {
      return 0;
    }
    return piece.size();
  }
};

/// Returns advice for a person.
std::string hint_for(CURLcode code, const std::string& setting) {
  if (code == CURLE_COULDNT_CONNECT) {
    return "; is the stack up, and at this address? tidemark status shows its ports; " + setting + " says where";
  }
  if (code == CURLE_PEER_FAILED_VERIFICATION) return "; --ca-file (TIDEMARK_CA_FILE) names certificates to trust";
  return "";
}

}  // namespace

HttpClient::HttpClient(std::string base_url, std::string ca_file, const char* setting, Handle handle)
    : base_url_(std::move(base_url)), ca_file_(std::move(ca_file)), setting_(setting), handle_(std::move(handle)) {
  const auto slash = base_url_.find('/', base_url_.find("://") + 3);
  if (slash != std::string::npos) prefix_ = base_url_.substr(slash);
}

Result<HttpClient> HttpClient::create(std::string base_url, std::string ca_file, const char* setting) {
  if (!base_url.starts_with("http://") && !base_url.starts_with("https://")) {
    return fail(ErrorCode::kConfigInvalid, "\"" + base_url + "\" is not an http:// or https:// URL");
  }
  while (base_url.ends_with('/')) base_url.pop_back();
  Handle handle(curl_easy_init(), &curl_easy_cleanup);
  if (!handle) return fail(ErrorCode::kInternalError, "libcurl cannot be set up");
  return HttpClient(std::move(base_url), std::move(ca_file), setting, std::move(handle));
}

Result<HttpReply> HttpClient::send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                                   std::string_view body, const TakePiece* each) {
  Transfer transfer{handle_.get(), each};
  const auto url = base_url_ + path;
  const auto lines = list_of(headers);
  char what[CURL_ERROR_SIZE] = {};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(transfer.easy, option, value); };
  curl_easy_reset(transfer.easy);  // keeps the connection
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file_.empty()) set(CURLOPT_CAINFO, ca_file_.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, each != nullptr ? kSilentStreamS : kSilentRequestS);
  set(CURLOPT_HTTPHEADER, lines.get());
  set(CURLOPT_CUSTOMREQUEST, method.c_str());
  if (method != "GET") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_POSTFIELDS, body.data());
  }
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(what));
  set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  set(CURLOPT_WRITEDATA, &transfer);
  if (const auto code = curl_easy_perform(transfer.easy); code != CURLE_OK) {
    const std::string why = what[0] != 0 ? what : curl_easy_strerror(code);
    return fail(ErrorCode::kUnavailable, "cannot reach " + base_url_ + " (" + why + ")" + hint_for(code, setting_));
  }
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.reply.status);
  return std::move(transfer.reply);
}

std::string HttpClient::header(const char* name) const {
  curl_header* found = nullptr;
  return curl_easy_header(handle_.get(), name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value : "";
}

}  // namespace tidemark::cli
