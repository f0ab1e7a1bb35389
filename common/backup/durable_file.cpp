#include "common/backup/durable_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

#include "common/base/encoding.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1UL << 20;

Result<void> write_all(const Descriptor& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("writing", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Writes a durable file beside `path` under a name of its own. `place` then gives it its name.
template <class Place>
Result<void> write_and_place(const fs::path& path, std::string_view bytes, Place place) {
  auto draft = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file) return file_error("making", path, errno);
  auto done = write_all(file, bytes, path);
  if (done && ::fdatasync(file.get()) != 0) done = file_error("syncing", path, errno);
  if (done) done = place(draft);
  ::unlink(draft.c_str());
  TRY(done);
  return sync_directory(path.parent_path());
}

/// SHA-256 of bytes that arrive in pieces.
class Sum {
 public:
  Sum() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    return hex_encode({reinterpret_cast<const char*>(digest.data()), size});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::unexpected<Error> file_error(std::string_view what, const fs::path& path, int code) {
  return fail(ErrorCode::kStorageFailure,
              std::string(what) + " " + path.string() + ": " + std::system_category().message(code));
}

Result<void> write_file(const fs::path& path, std::string_view bytes) {
  return write_and_place(path, bytes, [&path](const std::string& draft) -> Result<void> {
    if (::rename(draft.c_str(), path.c_str()) != 0) return file_error("making", path, errno);
    return {};
  });
}

Result<void> write_file_once(const fs::path& path, std::string_view bytes) {
  return write_and_place(path, bytes, [&path](const std::string& draft) -> Result<void> {
    if (::link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) return file_error("making", path, errno);
    return {};
  });
}

Result<std::string> read_file(const fs::path& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return fail(ErrorCode::kNotFound, "There is no file " + path.string() + ".");
  if (!file) return file_error("opening", path, errno);
  std::string bytes;
  TRY(sum_of_file(file, path, [&](std::string_view piece) -> Result<void> {
    bytes += piece;
    return bytes.size() > most ? fail(ErrorCode::kCorruption, path.string() + " is too large.") : Result<void>();
  }));
  return bytes;
}

Result<void> sync_directory(const fs::path& directory) {
  const Descriptor open(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open || ::fsync(open.get()) != 0) return file_error("syncing", directory, errno);
  return {};
}

Result<void> make_directories(const fs::path& directory) {
  std::vector<fs::path> missing;
  std::error_code unknown;
  for (auto at = directory; !at.empty() && !fs::exists(at, unknown); at = at.parent_path()) missing.push_back(at);
  for (; !missing.empty(); missing.pop_back()) {
    if (::mkdir(missing.back().c_str(), 0700) != 0 && errno != EEXIST) {
      return file_error("making the directory", missing.back(), errno);
    }
  }
  return {};
}

Result<std::string> sum_of_file(const Descriptor& file, const fs::path& path, const TakeBytes& take) {
  Sum sum;
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const auto got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("reading", path, errno);
    if (got == 0) return sum.hex();
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    sum.add(bytes);
    if (take) TRY(take(bytes));
  }
}

Result<std::string> copy_durably(const fs::path& from, const fs::path& to) {
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return file_error("opening", from, errno);
  const Descriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return file_error("making", to, errno);
  auto sum = TRY(sum_of_file(source, from, [&](std::string_view bytes) { return write_all(target, bytes, to); }));
  if (::fdatasync(target.get()) != 0) return file_error("syncing", to, errno);
  return sum;
}

}  // namespace tidemark::backup
