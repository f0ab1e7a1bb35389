// The console: the page at / and the files that it is made of, which the program carries along (folder console/). They
// hold nothing secret, so nobody is asked for a token; the page asks for one. Thread safe.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "common/http/http.h"

namespace tidemark::api {

struct ConsoleFile {
  std::string_view path;  // that it is served at; "/": the page itself
  std::string_view type;
  std::string_view tag;     // ETag, with its quotes
  std::string_view plain;   // its bytes
  std::string_view packed;  // likewise, by gzip
};

/// All of them, the page first. Made by cmake/embed_console.py.
std::span<const ConsoleFile> console_files();

/// The answer to a GET or HEAD for the page, at / or at the address of one of its views, or for one of its files;
/// nothing if the request is for something else.
std::optional<http::Response> console_response(const http::Request& request);

}  // namespace tidemark::api
