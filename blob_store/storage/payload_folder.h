// The folder of payload files on storage that all processes of a store reach. A file in it holds its id, and the
// catalogue has the same id once a process has served it: so a folder that is not mounted, or that belongs to another
// store, is never mistaken for it.
//   FOLDER/tidemark-payloads    the id
#pragma once
#include <filesystem>
#include <string>

#include "common/base/random.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Returns the folder's id, and makes one for a new folder. Blocks. kConfigInvalid, kStorageFailure.
Result<std::string> open_payload_folder(const std::filesystem::path& folder, const kv::Reader& catalogue,
                                        Random& random);

}  // namespace tidemark::blob_store
