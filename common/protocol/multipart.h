// Multipart bodies whose parts are HTTP requests: batches of tables and of blobs. Parts are found only by their
// boundaries, each of which ends a line but need not begin it: some clients write no line break behind a body. That
// cuts no body, since a string of JSON has no line breaks, and blobs' parts have no bodies. Lines may end with CRLF or
// LF, there may be empty lines before boundaries and bodies, and Content-Length is ignored. Views point into the body.
// Pure. Errors: kInvalidInput.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace tidemark::protocol {

using HeaderList = std::vector<std::pair<std::string_view, std::string_view>>;
/// Returns the first header with this name, ignoring case.
std::optional<std::string_view> find_header(const HeaderList& headers, std::string_view name);

struct BatchPart {
  std::string_view method;
  std::string_view uri;  // absolute or relative, with its query
  HeaderList headers;
  std::string_view body;
  std::string_view content_id;  // of the request, else of the part around it; empty if it is not fit for an answer
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

/// Returns the boundary in a Content-Type; nothing if that is not multipart/mixed or the boundary is not usable.
std::optional<std::string> multipart_boundary(std::string_view content_type);
std::unexpected<Error> malformed_batch(std::string_view what);

/// Returns the texts between the boundaries, at most `limit`. A missing closing boundary is tolerated, because samples
/// in the documentation lack it.
std::vector<std::string_view> split_parts(std::string_view text, std::string_view boundary, std::size_t limit);
void skip_empty_lines(std::string_view& text);
/// Takes the header lines up to an empty line or the end of the text.
Result<HeaderList> take_headers(std::string_view& text);
/// Parses the request in a part, which must be application/http.
Result<BatchPart> parse_http_part(std::string_view text);

}  // namespace tidemark::protocol
