// A property whose value is kept in a blob. In place of the property NAME the entity has NAME_tidemark_blob, a String:
//   {"container":C,"name":N,"etag":E,"size":S,"type":"Edm.String"|"Edm.Binary","sha256":H}
// `size` and `sha256` are those of the blob's bytes: UTF-8 of a String, a Binary as it is. A reader of the table reads
// the blob with any client; a writer of the entity keeps the property like any other. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "table_store/model/entity.h"

namespace tidemark::jobs {

inline constexpr std::string_view kLinkSuffix = "_tidemark_blob";

struct BlobLink {
  std::string container;
  std::string name;
  std::string etag;
  std::uint64_t size = 0;
  bool binary = false;
  std::string sha256;  // hex
  bool operator==(const BlobLink&) const = default;
};

std::string link_text(const BlobLink& link);
/// Returns nothing if the text is not a link.
std::optional<BlobLink> parse_link(std::string_view text);
/// Returns the bytes that would be in the blob; nothing for values of other types.
std::optional<std::string_view> blob_bytes(const table_store::Value& value);
table_store::Value value_of(const BlobLink& link, std::string bytes);
/// Tells whether one of the entity's links leads to this blob.
bool links_to(const table_store::Entity& entity, std::string_view container, std::string_view name);

}  // namespace tidemark::jobs
