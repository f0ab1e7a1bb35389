#include <boost/beast/http/status.hpp>

#include "common/base/encoding.h"
#include "common/http/session.h"

namespace tidemark::http {
namespace {

// The Date header changes once a second; every I/O thread keeps its own copy.
const std::string& date_now() {
  thread_local std::time_t formatted_for = 0;
  thread_local std::string text;
  const auto now = std::time(nullptr);
  if (now != formatted_for) {
    formatted_for = now;
    text = to_rfc1123(Time(std::chrono::seconds(now)));
  }
  return text;
}

void append_framing(std::string& out, const Request* request, const Response& response) {
  const bool bodyless = response.status == 204 || response.status == 304;
  if (bodyless) return;
  std::optional<std::uint64_t> length = response.body.size();
  if (response.source) length = response.source_length;
  if (request != nullptr && request->method == "HEAD" && response.head_content_length) {
    length = response.head_content_length;
  }
  if (length) {
    out.append("Content-Length: ").append(std::to_string(*length)).append("\r\n");
  } else {
    out.append("Transfer-Encoding: chunked\r\n");
  }
}

}  // namespace

std::string_view reason_phrase(unsigned status) {
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {reason.data(), reason.size()};
}

std::string render_head(const Request* request, const Response& response, bool keep_alive,
                        const std::string& server_name) {
  std::string out;
  out.reserve(192 + response.headers.text().size());
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  out.append(response.headers.text());
  append_framing(out, request, response);
  out.append("Date: ").append(date_now()).append("\r\n");
  out.append("Server: ").append(server_name).append("\r\n");
  if (!keep_alive) out.append("Connection: close\r\n");
  out.append("\r\n");
  return out;
}

}  // namespace tidemark::http
