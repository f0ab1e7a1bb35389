// The bytes of archived entities: a document is one entity's text (table_store/odata/entity_text.h), a part is one
// per line, perhaps compressed (gzip, RFC 1952). Reading recognizes the compression by itself and is bounded, whatever
// the bytes claim. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::jobs {

/// Of a part before compression.
inline constexpr std::size_t kMaxPartBytes = 128UL << 20;
inline constexpr std::string_view kDocumentType = "application/json";
inline constexpr std::string_view kLinesType = "application/x-ndjson";
inline constexpr std::string_view kGzipType = "application/gzip";

std::string part_text(const std::vector<table_store::Entity>& entities, bool gzip);
/// kCorruption: these are not the bytes of a part.
Result<std::vector<table_store::Entity>> entities_of_part(std::string_view bytes);

std::string gzip_compress(std::string_view bytes);
/// kCorruption, also if there would be more than `limit` bytes.
Result<std::string> gzip_decompress(std::string_view bytes, std::size_t limit);

}  // namespace tidemark::jobs
