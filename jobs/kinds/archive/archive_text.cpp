#include "jobs/kinds/archive/archive_text.h"

#include <zlib.h>

#include <cstdlib>

#include "table_store/odata/entity_text.h"

namespace tidemark::jobs {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // the largest window, with gzip's header and trailer
constexpr int kMemoryLevel = 8;           // zlib's default
constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::size_t kMaxInput = 1UL << 30;

std::unexpected<Error> corrupt(std::string detail) {
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = std::move(detail);
  return fail(std::move(error));
}

Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
}

}  // namespace

std::string gzip_compress(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    std::abort();  // out of memory
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);  // one call: the buffer has room for all of it
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Result<std::string> gzip_decompress(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > kMaxInput) return corrupt("a compressed part is too large");
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) return corrupt("zlib does not start");
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= limit) {
    char piece[64 * 1024];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof piece - stream.avail_out);
  }
  const bool all_read = stream.avail_in == 0;
  inflateEnd(&stream);
  if (state != Z_STREAM_END || !all_read) return corrupt("a compressed part is broken or too large");
  return out;
}

std::string part_text(const std::vector<table_store::Entity>& entities, std::string_view archive, bool gzip) {
  std::string out;
  for (const auto& entity : entities) {
    table_store::append_entity_text(out, entity, archive);
    out += '\n';
  }
  return gzip ? gzip_compress(out) : out;
}

Result<PartText> parse_part_text(std::string_view bytes) {
  std::string plain;
  if (bytes.starts_with(kGzipMagic)) {
    plain = TRY(gzip_decompress(bytes, kMaxPartBytes));
    bytes = plain;
  }
  PartText part;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) return corrupt("a part does not end with a whole line");
    std::string archive;
    auto entity = table_store::parse_entity_text(bytes.substr(0, end), &archive);
    const auto line = "line " + std::to_string(part.entities.size() + 1);
    if (!entity) return corrupt(line + " of a part is no archived entity");
    if (part.entities.empty()) part.archive = archive;
    if (part.archive != archive) return corrupt(line + " of a part belongs to another archive than those before it");
    part.entities.push_back(std::move(*entity));
    bytes.remove_prefix(end + 1);
  }
  return part;
}

}  // namespace tidemark::jobs
