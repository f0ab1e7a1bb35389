// Payload files in a directory of their own, which is removed with them.
#pragma once
#include <stdlib.h>

#include <set>
#include <stdexcept>

#include "blob_store/storage/payload_files.h"

namespace tidemark::blob_store {

class TemporaryPayloads {
 public:
  explicit TemporaryPayloads(Executor disk) : files_(directory_, std::move(disk), false) {}
  TemporaryPayloads(const TemporaryPayloads&) = delete;
  TemporaryPayloads& operator=(const TemporaryPayloads&) = delete;
  ~TemporaryPayloads() { std::filesystem::remove_all(directory_); }

  operator const PayloadFiles&() const { return files_; }
  [[nodiscard]] std::set<std::filesystem::path> paths() const {
    std::set<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) found.insert(entry.path());
    }
    return found;
  }

 private:
  static std::filesystem::path make_directory() {
    auto name = (std::filesystem::temp_directory_path() / "tidemark-payloads-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    return name;
  }
  std::filesystem::path directory_ = make_directory();
  PayloadFiles files_;
};

}  // namespace tidemark::blob_store
