// Table URLs: an entity's path as we write it reads back as the same keys.
#include "table_store/odata/table_url.h"

#include "common/base/encoding.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  using namespace tidemark::table_store;
  const auto text = fuzz::text_of(bytes, size);
  const auto uri = split_uri(text);
  fuzz::require(uri.path.size() + uri.query.size() <= text.size(), "a URI is not larger than itself");
  const auto url = parse_table_url(text);
  if (!url || url->kind != UrlKind::kEntity) return 0;
  std::string path;
  append_entity_path(path, url->table, url->partition_key, url->row_key);
  const auto again = parse_table_url(path);
  fuzz::require(again && again->kind == UrlKind::kEntity, "a written path is the path of an entity");
  fuzz::require(
      again->table == url->table && again->partition_key == url->partition_key && again->row_key == url->row_key,
      "keys survive the way through a URL");
  return 0;
}
