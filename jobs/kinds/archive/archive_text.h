// The encoding of archived entities. A document is the text of one entity (table_store/odata/entity_text.h); a part has
// one per line and may be compressed (gzip, RFC 1952). Reading detects the compression and is bounded, regardless of
// the sizes in the bytes. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

/// The largest part before compression.
inline constexpr std::size_t kMaxPartBytes = 128UL << 20;
inline constexpr std::string_view kDocumentType = "application/json";
inline constexpr std::string_view kLinesType = "application/x-ndjson";
inline constexpr std::string_view kGzipType = "application/gzip";

/// Every line names the archive, so a part itself says where it belongs.
std::string part_text(const std::vector<table_store::Entity>& entities, std::string_view archive, bool gzip);
struct PartText {
  std::vector<table_store::Entity> entities;
  std::string archive;  // empty if an earlier version of the jobs wrote it
};
/// kCorruption if the bytes are not those of a part, or if its lines belong to several archives.
Result<PartText> parse_part_text(std::string_view bytes);

std::string gzip_compress(std::string_view bytes);
/// kCorruption if the bytes are broken, or would become more than `limit` bytes.
Result<std::string> gzip_decompress(std::string_view bytes, std::size_t limit);

}  // namespace tidemark::jobs
