// Containers and blobs, through the api, for users who have its token and not the account's key.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"
#include "api/cli/terminal.h"
#include "common/base/descriptor.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;
constexpr const char* kTagHelp = "the ETag that it must have, or * for any";

std::string size_of(const json& size) {
  return size.is_number_unsigned() ? readable_bytes(size.get<std::uint64_t>()) : "";
}

struct Which {
  std::string container, name;

  void declare(CLI::App& command) {
    command.add_option("container", container, "the container")->required();
    command.add_option("blob", name, "the blob's name")->required();
  }
  [[nodiscard]] std::string path(const char* ending,
                                 const std::vector<std::pair<const char*, std::string>>& more = {}) const {
    auto out = item_path("containers", container, ending) + "?name=" + percent_encode(name);
    for (const auto& [parameter, value] : more) {
      if (!value.empty()) out += "&" + std::string(parameter) + "=" + percent_encode(value);
    }
    return out;
  }
};

Print container_table() {
  return table_of({{"container", "/name"}, {"changed", "/changedAt", time_of}, {"public", "/publicAccess"}});
}

void add_lists(const Commands& blobs, const Commands& containers) {
  struct Arguments {
    std::string container, prefix, delimiter;
    Extent wanted;
  };
  auto a = std::make_shared<Arguments>();
  const auto limit = [a](CLI::App& command) {
    command.add_option("--prefix", a->prefix, "whose names begin with this");
    a->wanted.declare(command);
  };
  limit(containers.add("list", "the containers of the account", [=](const GlobalOptions& options) {
    return list_and_print(options, "/v1/containers" + query_of({{"prefix", a->prefix}}), "containers", a->wanted,
                          container_table());
  }));
  const auto rows = table_of({{"blob", "/name"},
                              {">size", "/size", size_of},
                              {"type", "/contentType"},
                              {"changed", "/changedAt", time_of},
                              {"etag", "/etag"}});
  auto& listing = blobs.add("list", "the blobs of a container", [=](const GlobalOptions& options) {
    const auto query = query_of({{"prefix", a->prefix}, {"delimiter", a->delimiter}});
    return list_and_print(options, item_path("containers", a->container, "/blobs") + query, "blobs", a->wanted, rows);
  });
  listing.add_option("container", a->container, "the container")->required();
  listing.add_option("--delimiter", a->delimiter, "group names at this delimiter, such as /");
  limit(listing);
}

void print_blob(const json& blob) { std::cout << blob.dump(2) << "\n"; }

/// Follows links to their target, which need not exist.
Result<fs::path> followed(const std::string& file) {
  fs::path path = file;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    if (links == kMostLinks) return fail(ErrorCode::kInvalidInput, file + " is a link that leads nowhere");
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

Result<void> write_content(ApiClient& api, const Which& which, const std::string& file) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return fail(ErrorCode::kInvalidInput, file + " cannot be written");
  TRY(api.stream(which.path("/content"), [&out](std::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  }));
  out.close();
  if (!out) return fail(ErrorCode::kInvalidInput, file + " cannot be written");
  return {};
}

/// Writes a file beside it first, so that the file with this name is always whole.
Result<void> replace_file(ApiClient& api, const Which& which, const std::string& file) {
  const auto part = file + ".part";
  auto done = write_content(api, which, part);
  if (done) {
    std::error_code error;
    fs::rename(part, file, error);
    if (error) done = fail(ErrorCode::kInvalidInput, file + " cannot be written: " + error.message());
  }
  if (!done) std::remove(part.c_str());
  return done;
}

Result<int> download(const GlobalOptions& options, const Which& which, const std::string& file) {
  auto api = TRY(ApiClient::create(options));
  if (file == "-") {
    TRY(api.stream(which.path("/content"), [](std::string_view piece) { std::cout << piece; }));
    return kOk;
  }
  const auto target = TRY(followed(file));
  std::error_code error;
  const auto there = fs::status(target, error);
  // Write to a pipe or device directly; a file in its place would be useless.
  const bool as_it_is = fs::exists(there) && !fs::is_regular_file(there);
  TRY(as_it_is ? write_content(api, which, target) : replace_file(api, which, target));
  return kOk;
}

/// A file's bytes, mapped into memory, so that a file of any size can be sent.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& name) {
    const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about{};
    if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
      return fail(ErrorCode::kInvalidInput, name + " cannot be read, or is no file");
    }
    const auto size = static_cast<std::size_t>(about.st_size);
    if (size == 0) return MappedFile(nullptr, 0);
    auto* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (bytes == MAP_FAILED) return fail(ErrorCode::kInvalidInput, name + " cannot be read");
    return MappedFile(bytes, size);
  }
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  MappedFile(void* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  void* bytes_;
  std::size_t size_;
};

struct Upload {
  Which which;
  std::string file, type, if_match;
};

Result<int> upload(const GlobalOptions& options, const Upload& what) {
  auto api = TRY(ApiClient::create(options));
  const auto path = what.which.path("/content", {{"contentType", what.type}});
  const HttpHeaders headers{what.if_match.empty() ? std::pair<std::string, std::string>("If-None-Match", "*")
                                                  : std::pair<std::string, std::string>("If-Match", what.if_match)};
  if (what.file == "-") {
    const auto bytes = TRY(read_file(what.file));
    print_answer(options, TRY(api.upload(path, bytes, headers)), print_blob);
  } else {
    const auto file = TRY(MappedFile::open(what.file));
    print_answer(options, TRY(api.upload(path, file.bytes(), headers)), print_blob);
  }
  return kOk;
}

/// Returns the container with this name; null if there is none.
Result<json> find_container(ApiClient& api, const std::string& name) {
  const auto query = query_of({{"prefix", name}, {"limit", "1"}});
  auto like_it = TRY(api.call("GET", "/v1/containers" + query)).value("containers", json::array());
  return !like_it.empty() && cell(like_it[0], "name") == name ? std::move(like_it[0]) : json();
}

/// The api answers the same whether the container is new or not, so this asks first.
Result<int> create_container(const GlobalOptions& options, const std::string& name) {
  auto api = TRY(ApiClient::create(options));
  const bool there = !TRY(find_container(api, name)).is_null();
  print_answer(options, TRY(api.call("PUT", item_path("containers", name))),
               said(there ? "it was there already" : "created"));
  return kOk;
}

Result<int> show_container(const GlobalOptions& options, const std::string& name) {
  auto api = TRY(ApiClient::create(options));
  const auto found = TRY(find_container(api, name));
  // The answer of the api about a container that is not there says so.
  if (found.is_null()) TRY(api.call("GET", item_path("containers", name, "/blobs?limit=1")));
  print_answer(options, found, container_table());
  return kOk;
}

void add_whole_containers(const Commands& containers) {
  auto name = std::make_shared<std::string>();
  auto consent = std::make_shared<Consent>();
  const auto named = [name](CLI::App& command) {
    command.add_option("container", *name, "the container's name")->required();
  };
  named(containers.add("create", "make a container; one that is there stays as it is",
                       [name](const GlobalOptions& options) { return create_container(options, *name); }));
  named(containers.add("show", "one container",
                       [name](const GlobalOptions& options) { return show_container(options, *name); }));
  auto& dropping = containers.add(
      "drop", "delete a container with all of its blobs", [name, consent](const GlobalOptions& options) -> Result<int> {
        if (!TRY(consent->to("Delete the container " + *name + " with all of its blobs?"))) return kOk;
        return call_and_print(options, "DELETE", item_path("containers", *name), said("deleted"));
      });
  named(dropping);
  consent->declare(dropping);
}

void add_transfers(const Commands& blobs) {
  auto from = std::make_shared<std::pair<Which, std::string>>();
  auto& downloading = blobs.add("download", "the content of a blob", [from](const GlobalOptions& options) {
    return download(options, from->first, from->second);
  });
  from->first.declare(downloading);
  downloading.add_option("--file", from->second, "where it goes; - for standard output")->required();

  auto a = std::make_shared<Upload>();
  auto& uploading = blobs.add("upload", "make a blob, or replace one",
                              [a](const GlobalOptions& options) { return upload(options, *a); });
  a->which.declare(uploading);
  uploading.add_option("--file", a->file, "its content; - for standard input")->required();
  uploading.add_option("--type", a->type, "its media type, such as image/png");
  uploading.add_option("--if-match", a->if_match, std::string(kTagHelp) + "; without it, the blob must not be there");
}

void add_for_one(const Commands& blobs) {
  auto shown = std::make_shared<Which>();
  shown->declare(blobs.add("show", "a blob's properties, metadata and tags", [shown](const GlobalOptions& options) {
    return call_and_print(options, "GET", shown->path("/blob"), print_blob);
  }));
  struct Arguments {
    Which which;
    std::string if_match;
    bool snapshots = false;
  };
  auto a = std::make_shared<Arguments>();
  auto& deleting = blobs.add("delete", "delete a blob", [a](const GlobalOptions& options) {
    return call_and_print(options, "DELETE", a->which.path("/blob", {{"snapshots", a->snapshots ? "true" : ""}}),
                          said("deleted"), {}, {{"If-Match", a->if_match}});
  });
  a->which.declare(deleting);
  deleting.add_option("--if-match", a->if_match, kTagHelp)->required();
  deleting.add_flag("--snapshots", a->snapshots, "its snapshots, too");
}

}  // namespace

void add_blob_commands(const Commands& program) {
  const auto blobs = program.family("blob", "look at blobs, upload, download and delete them, through the api");
  const auto containers = program.family("container", "make, look at and drop containers, through the api");
  add_lists(blobs, containers);
  add_for_one(blobs);
  add_transfers(blobs);
  add_whole_containers(containers);
}

}  // namespace tidemark::cli
