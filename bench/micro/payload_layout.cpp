// Compares three layouts of large values: chunks of 256 KiB as rows beside the keys, the same rows kept apart from the
// keys, or a file for each object. Each round puts objects of one size over a set of names, so that most replace an
// older one, and then reads all objects. Prints speed, processor time, bytes written for each byte of content, and the
// space in use at the end for each byte that is alive.
//
// With the connection string of a database, rows are there, and four clients write large objects at once.
//
//   payload_layout DIRECTORY rows|apart|files [MIB [DATABASE]]
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "common/kv/key_codec.h"
#include "common/kv/rocksdb_engine.h"
#include "common/postgres/postgres_engine.h"

namespace {

using namespace tidemark;
namespace fs = std::filesystem;

constexpr std::size_t kChunk = 256UL << 10;
constexpr int kClients = 16;
constexpr int kClientsOfDatabase = 4;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message + " " + result.error().detail);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::uint64_t written_bytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t number = 0;
  while (io >> name >> number) {
    if (name == "write_bytes:") return number;
  }
  return 0;
}

std::uint64_t used_bytes(const fs::path& directory) {
  std::uint64_t used = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) used += entry.file_size();
  }
  return used;
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Bench {
 public:
  Bench(fs::path directory, std::string layout, const std::string& database)
      : directory_(std::move(directory)),
        layout_(std::move(layout)),
        writers_(database.empty() ? 1 : kClientsOfDatabase) {
    if (database.empty()) {
      kv::RocksDbOptions options;
      options.path = directory_ / "rows";
      if (layout_ == "apart") options.apart_from_bytes = 16UL << 10;
      engine_ = must(kv::open_rocksdb(options));
    } else {
      kv::PostgresOptions options;
      options.url = database;
      options.schema = "payloads_" + directory_.filename().string();
      options.owner = "bench";
      engine_ = must(kv::open_postgres(options));
    }
    fs::create_directories(directory_ / "files");
    for (auto& byte : noise_) byte = static_cast<char>(dice_());
  }

  void round(std::size_t object_bytes, std::size_t total_bytes) {
    const auto puts = std::max<std::size_t>(total_bytes / object_bytes, 4);
    const auto names = std::max<std::size_t>(puts / 4, 1);
    const auto began = seconds();
    const auto cpu = processor_seconds();
    const auto wrote = written_bytes();
    asio::io_context io;
    std::size_t left = puts;
    for (int client = 0; client < (object_bytes > kChunk ? writers_ : kClients); ++client) {
      asio::co_spawn(
          io,
          [&]() -> Task<void> {
            while (left > 0) {
              --left;
              co_await put(object_bytes, dice_() % names);
            }
          },
          asio::detached);
    }
    io.run();
    const auto elapsed = seconds() - began;
    const auto spent = processor_seconds() - cpu;
    const auto content = static_cast<double>(puts * object_bytes);
    const auto read_began = seconds();
    std::size_t bytes_read = 0;
    for (const auto& [name, id] : live_) bytes_read += read(id, object_bytes);
    const auto read_elapsed = seconds() - read_began;
    ::sync();
    fmt::print("{:5} {:>10} put {:7.0f} MB/s cpu {:5.2f} s/GB wrote {:4.2f} x | read {:7.0f} MB/s | in use {:4.2f} x\n",
               layout_, object_bytes, content / elapsed / 1e6, spent / content * 1e9,
               static_cast<double>(written_bytes() - wrote) / content,
               static_cast<double>(bytes_read) / read_elapsed / 1e6,
               static_cast<double>(used_bytes(directory_)) / static_cast<double>(live_.size() * object_bytes));
    for (const auto& [name, id] : live_) erase(id, object_bytes);
    live_.clear();
    std::cout.flush();
  }

 private:
  static std::string chunk_key(std::uint64_t id, std::uint64_t index) { return kv::key('P', id, index); }
  [[nodiscard]] fs::path file(std::uint64_t id) const { return directory_ / "files" / std::to_string(id); }

  std::string_view chunk(std::uint64_t seed, std::size_t bytes) {
    return std::string_view(noise_).substr(seed * 4096 % kChunk, bytes);
  }

  Task<void> put(std::size_t bytes, std::uint64_t name) {
    const auto id = ++ids_;
    const bool to_file = layout_ == "files" && bytes > kChunk;
    if (to_file) {
      const int fd = ::open(file(id).c_str(), O_CREAT | O_WRONLY, 0600);
      for (std::size_t at = 0; at < bytes; at += kChunk) {
        const auto part = chunk(id + at, std::min(kChunk, bytes - at));
        if (::write(fd, part.data(), part.size()) != static_cast<ssize_t>(part.size()))
          throw std::runtime_error("write");
      }
      if (::fdatasync(fd) != 0) throw std::runtime_error("fdatasync");
      ::close(fd);
    } else if (bytes > kChunk) {
      for (std::size_t at = 0; at < bytes; at += kChunk) {
        const auto part = chunk(id + at, std::min(kChunk, bytes - at));
        must(co_await engine_->transact([&](kv::Transaction& txn) -> Result<void> {
          txn.put(chunk_key(id, at / kChunk), part);
          return {};
        }));
      }
    }
    const auto old = live_.contains(name) ? live_[name] : 0;
    live_[name] = id;
    must(co_await engine_->transact([&](kv::Transaction& txn) -> Result<void> {
      txn.put(kv::key('B', name), std::string(200, 'm'));
      if (bytes <= kChunk) txn.put(chunk_key(id, 0), chunk(id, bytes));
      if (old != 0 && layout_ != "files") {
        for (std::size_t at = 0; at < bytes; at += kChunk) txn.erase(chunk_key(old, at / kChunk));
      }
      if (old != 0 && layout_ == "files" && bytes <= kChunk) txn.erase(chunk_key(old, 0));
      return {};
    }));
    if (old != 0 && to_file) ::unlink(file(old).c_str());
  }

  void erase(std::uint64_t id, std::size_t bytes) {
    if (layout_ == "files" && bytes > kChunk) {
      ::unlink(file(id).c_str());
      return;
    }
    engine_->submit(
        [=](kv::Transaction& txn) -> Result<void> {
          for (std::size_t at = 0; at < bytes; at += kChunk) txn.erase(chunk_key(id, at / kChunk));
          return {};
        },
        [](const Result<void>&) {});
  }

  std::size_t read(std::uint64_t id, std::size_t bytes) {
    std::size_t sum = 0;
    if (layout_ == "files" && bytes > kChunk) {
      std::string buffer(kChunk, '\0');
      const int fd = ::open(file(id).c_str(), O_RDONLY);
      for (ssize_t got = 1; got > 0;) {
        got = ::read(fd, buffer.data(), buffer.size());
        sum += static_cast<std::size_t>(got);
      }
      ::close(fd);
      return sum;
    }
    for (std::size_t at = 0; at < bytes; at += kChunk) sum += must(engine_->get(chunk_key(id, at / kChunk)))->size();
    return sum;
  }

  fs::path directory_;
  std::string layout_;
  const int writers_;  // of large objects
  std::unique_ptr<kv::Engine> engine_;
  std::minstd_rand dice_{1};
  std::string noise_ = std::string(2 * kChunk, '\0');
  std::map<std::uint64_t, std::uint64_t> live_;
  std::uint64_t ids_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: payload_layout DIRECTORY rows|apart|files [MIB [DATABASE]]\n", 2;
  const std::size_t total = (argc > 3 ? std::stoull(argv[3]) : 1024) << 20;
  for (const std::size_t bytes : {1UL << 10, 16UL << 10, 64UL << 10, 1UL << 20, 64UL << 20, 1UL << 30}) {
    Bench bench(fs::path(argv[1]) / std::to_string(bytes), argv[2], argc > 4 ? argv[4] : "");
    bench.round(bytes, bytes <= 1024 ? total / 16 : std::max(total, 2 * bytes));
  }
  return 0;
}
