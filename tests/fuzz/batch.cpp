// Batches: the first line is the Content-Type, the rest the body, parsed as the table store and as the blob store parse
// it. Parts lie within the body.
#include "table_store/odata/table_url.h"
#include "table_store/rest/batch_mime.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace tidemark;
using namespace tidemark::table_store;

void check_part(const BatchPart& part, std::string_view body) {
  const auto inside = [&](std::string_view view) {
    return view.empty() || (view.data() >= body.data() && view.data() + view.size() <= body.data() + body.size());
  };
  fuzz::require(inside(part.method) && inside(part.uri) && inside(part.body), "a part lies within the body");
  for (const auto& [name, value] : part.headers) {
    fuzz::require(inside(name) && inside(value), "headers lie within the body");
    fuzz::require(part.header(name).has_value(), "a header is found by its name");
  }
  const auto uri = split_uri(part.uri);
  (void)parse_table_url(uri.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  auto body = fuzz::text_of(bytes, size);
  const auto boundary = multipart_boundary(fuzz::take_until(body, '\n'));
  if (!boundary) return 0;
  for (const auto text : protocol::split_parts(body, *boundary, kMaxBatchOperations)) {
    const auto part = protocol::parse_http_part(text);
    if (part) check_part(*part, body);
  }
  const auto batch = parse_batch(body, *boundary);
  if (!batch) return 0;
  fuzz::require(batch->changes.size() <= kMaxBatchOperations, "a batch is bounded");
  fuzz::require(batch->query.has_value() || !batch->changes.empty(), "a batch is not empty");
  for (const auto& part : batch->changes) check_part(part, body);
  if (batch->query) check_part(*batch->query, body);
  return 0;
}
