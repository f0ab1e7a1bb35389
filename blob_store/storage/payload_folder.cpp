#include "blob_store/storage/payload_folder.h"

#include <fmt/format.h>

#include "blob_store/storage/blob_keys.h"
#include "common/backup/durable_file.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "tidemark-payloads";
constexpr std::size_t kMaxIdBytes = 64;

Result<std::string> read_id(const fs::path& file) {
  auto text = TRY(backup::read_file(file, kMaxIdBytes));
  std::string id(trimmed(text));
  if (id.empty()) return fail(ErrorCode::kConfigInvalid, "the file " + file.string() + " is empty");
  return id;
}

std::unexpected<Error> is_another(const fs::path& folder, std::string_view why) {
  return fail(ErrorCode::kConfigInvalid,
              fmt::format("payload_folder {} is not the folder that has the large blobs of this database: {}. Is it "
                          "mounted?",
                          folder.string(), why));
}

}  // namespace

Result<std::string> open_payload_folder(const fs::path& folder, const kv::Reader& catalogue, Random& random) {
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) {
    return fail(ErrorCode::kConfigInvalid, fmt::format("payload_folder {} is not a directory", folder.string()));
  }
  const auto file = folder / kName;
  const auto known = TRY(catalogue.get(blob_keys::kPayloadFolder));
  auto id = read_id(file);
  if (id && known && *id != *known) return is_another(folder, fmt::format("its file {} has another id", kName));
  if (id || !id.failed_with(ErrorCode::kNotFound)) return id;
  if (known) return is_another(folder, fmt::format("it has no file {}", kName));
  TRY(backup::write_file_once(file, random.guid() + "\n"));
  return read_id(file);
}

}  // namespace tidemark::blob_store
