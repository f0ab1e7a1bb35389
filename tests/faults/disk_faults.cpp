// A failing disk, for LD_PRELOAD. TIDEMARK_DISK_FAULTS names a file that a test writes at any time, with a word for
// each kind of call that is to fail: "write ENOSPC", "sync EIO", "read EIO", one a line, each perhaps followed by the
// number of calls between two failures (0: all fail). "sync SLOW" lets it succeed, after a second and a half. Only
// regular files below TIDEMARK_DISK_FAULTS_BELOW are affected. "space MIB" fails nothing: no more than that is reported
// free.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

struct Kind {
  std::atomic<int> error{0};
  std::atomic<unsigned> between{0};
  std::atomic<unsigned> calls{0};
};

constexpr long kUnbounded = -1;

struct Faults {
  Kind write, sync, read;
  std::atomic<long> free_mib{kUnbounded};
  std::atomic<long> seen{-1};  // identifies the file that was read last
};

Faults& faults() {
  static Faults instance;
  return instance;
}

constexpr int kSlow = -1;
constexpr useconds_t kSlowTime = 1'500'000;

int number_of(std::string_view name) {
  if (name == "SLOW") return kSlow;
  if (name == "ENOSPC") return ENOSPC;
  if (name == "EIO") return EIO;
  return name == "EROFS" ? EROFS : 0;
}

void load(const char* path) {
  struct stat status{};
  if (::stat(path, &status) != 0) return;
  // File times are coarse; a file that replaces another has an inode of its own, and a file without faults is shorter.
  const long changed = status.st_mtim.tv_sec * 1'000'000'000L + status.st_mtim.tv_nsec +
                       static_cast<long>(status.st_ino) * 1'000 + status.st_size;
  if (faults().seen.exchange(changed) == changed) return;
  for (auto* kind : {&faults().write, &faults().sync, &faults().read}) kind->error = 0;
  faults().free_mib = kUnbounded;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return;
  char line[100];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    char name[20] = "", error[20] = "";
    unsigned between = 0;
    if (std::sscanf(line, "%19s %19s %u", name, error, &between) < 2) continue;
    const std::string_view kind(name);
    if (kind == "space") {
      faults().free_mib = std::strtol(error, nullptr, 10);
      continue;
    }
    auto& meant = kind == "write" ? faults().write : kind == "sync" ? faults().sync : faults().read;
    meant.between = between;
    meant.error = number_of(error);
  }
  std::fclose(file);
}

bool is_meant(int fd) {
  static const char* below = std::getenv("TIDEMARK_DISK_FAULTS_BELOW");
  struct stat status{};
  if (below == nullptr || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const auto length = ::readlink(link, path, sizeof path);
  return length > 0 && std::string_view(path, static_cast<std::size_t>(length)).starts_with(below);
}

/// Reads the faults that the test wants now; false if no test is there.
bool look() {
  static const char* control = std::getenv("TIDEMARK_DISK_FAULTS");
  if (control != nullptr) load(control);
  return control != nullptr;
}

/// Returns true if this call is to fail; errno tells why.
bool fails(Kind Faults::* kind, int fd) {
  if (!look()) return false;
  auto& meant = faults().*kind;
  const int error = meant.error;
  if (error == 0 || !is_meant(fd)) return false;
  if (meant.calls.fetch_add(1) % (meant.between + 1) != meant.between) return false;
  if (error == kSlow) {
    ::usleep(kSlowTime);
    return false;
  }
  errno = error;
  return true;
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// NOLINTBEGIN
#define FAULTY(kind, result, name, parameters, arguments)                       \
  extern "C" result name parameters {                                           \
    static const auto real = next<result(*) parameters>(#name);                 \
    return fails(&Faults::kind, fd) ? static_cast<result>(-1) : real arguments; \
  }
FAULTY(write, ssize_t, write, (int fd, const void* bytes, size_t size), (fd, bytes, size))
FAULTY(write, ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t at), (fd, bytes, size, at))
FAULTY(write, ssize_t, pwrite64, (int fd, const void* bytes, size_t size, off64_t at), (fd, bytes, size, at))
FAULTY(write, ssize_t, writev, (int fd, const iovec* pieces, int count), (fd, pieces, count))
FAULTY(write, int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
FAULTY(write, int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))
FAULTY(sync, int, fsync, (int fd), (fd))
FAULTY(sync, int, fdatasync, (int fd), (fd))
FAULTY(read, ssize_t, pread, (int fd, void* bytes, size_t size, off_t at), (fd, bytes, size, at))
FAULTY(read, ssize_t, pread64, (int fd, void* bytes, size_t size, off64_t at), (fd, bytes, size, at))
// NOLINTEND

extern "C" int sync_file_range(int fd, off64_t at, off64_t size, unsigned flags) {
  static const auto real = next<int (*)(int, off64_t, off64_t, unsigned)>("sync_file_range");
  // Without flags it touches no disk: a caller finds out whether the call exists.
  return flags != 0 && fails(&Faults::sync, fd) ? -1 : real(fd, at, size, flags);
}

extern "C" int statvfs(const char* path, struct statvfs* told) {
  static const auto real = next<int (*)(const char*, struct statvfs*)>("statvfs");
  const int outcome = real(path, told);
  const long free_mib = look() ? faults().free_mib.load() : kUnbounded;
  if (outcome == 0 && free_mib != kUnbounded && told->f_frsize > 0) {
    const auto blocks = static_cast<fsblkcnt_t>(free_mib) * (1UL << 20) / told->f_frsize;
    told->f_bavail = std::min(told->f_bavail, blocks);
  }
  return outcome;
}
