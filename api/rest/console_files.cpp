#include "api/rest/console_files.h"

#include <algorithm>
#include <array>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::api {
namespace {

/// The first segments of the addresses of views; the rest of an address concerns only the page.
constexpr std::array<std::string_view, 16> kViews{"overview", "poison",  "jobs",     "groups", "schedules",  "limits",
                                                  "workers",  "indexes", "tables",   "queues", "containers", "explain",
                                                  "audit",    "shards",  "runbooks", "kinds"};

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

bool is_view(std::string_view path) {
  path.remove_prefix(1);
  return std::ranges::find(kViews, path.substr(0, path.find('/'))) != kViews.end();
}

/// The first segments of addresses that programs use.
constexpr std::array<std::string_view, 6> kForPrograms{"v1", "console", "openapi.json", "healthz", "readyz", "metrics"};

bool is_for_programs(std::string_view path) {
  path.remove_prefix(1);
  return std::ranges::find(kForPrograms, path.substr(0, path.find('/'))) != kForPrograms.end();
}

/// Tells whether a person has opened the address in a browser, which then wants a page to show.
bool wants_page(const http::Request& request) {
  auto rest = request.header("accept").value_or("");
  while (!rest.empty()) {
    const auto each = take_item(rest);
    if (iequals_ascii(trimmed(each.substr(0, each.find(';'))), "text/html")) return true;
  }
  return false;
}

const ConsoleFile* find_file(std::string_view path) {
  if (!path.starts_with('/')) return nullptr;
  const auto wanted = is_view(path) ? std::string_view("/") : path;
  const auto files = console_files();
  const auto found = std::ranges::find(files, wanted, &ConsoleFile::path);
  return found == files.end() ? nullptr : &*found;
}

/// Tells whether If-None-Match has this tag.
bool names(std::optional<std::string_view> list, std::string_view tag) {
  auto rest = list.value_or("");
  while (!rest.empty()) {
    if (iequals_ascii(trimmed(take_item(rest)), tag)) return true;
  }
  return false;
}

/// Tells whether an item of Accept-Encoding has the weight zero: "q=0", "q=0.000".
bool is_refused(std::string_view parameters) {
  const auto weight = trimmed(parameters);
  return weight.starts_with("q=0") && weight.find_first_not_of("0.", 2) == std::string_view::npos;
}

bool accepts_gzip(const http::Request& request) {
  auto rest = request.header("accept-encoding").value_or("");
  while (!rest.empty()) {
    const auto each = take_item(rest);
    const auto end = std::min(each.find(';'), each.size());
    if (iequals_ascii(trimmed(each.substr(0, end)), "gzip"))
      return !is_refused(each.substr(std::min(end + 1, each.size())));
  }
  return false;
}

}  // namespace

std::optional<http::Response> console_response(const http::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  const auto* file = find_file(request.path);
  http::Response response;
  if (file == nullptr) {
    // At an unknown address, the page says so itself, in the place where its user can go on.
    if (!request.path.starts_with('/') || is_for_programs(request.path) || !wants_page(request)) return std::nullopt;
    file = find_file("/");
    response.status = 404;
  }
  response.set("ETag", file->tag);
  response.set("Vary", "Accept-Encoding");
  // The address of a file changes with its content; that of the page does not.
  response.set("Cache-Control", file->path == "/" ? "no-cache" : "public, max-age=31536000, immutable");
  response.set("X-Content-Type-Options", "nosniff");
  if (response.status != 404 && names(request.header("if-none-match"), file->tag)) {
    response.status = 304;
    return response;
  }
  response.set("Content-Type", file->type);
  response.set("Content-Security-Policy", kPolicy);
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  const bool packed = accepts_gzip(request);
  if (packed) response.set("Content-Encoding", "gzip");
  response.body = packed ? file->packed : file->plain;
  return response;
}

}  // namespace tidemark::api
