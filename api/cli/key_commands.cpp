#include <CLI/CLI.hpp>
#include <iostream>

#include "api/cli/commands.h"
#include "common/base/encoding.h"
#include "common/rpc/curve_keys.h"

namespace tidemark::cli {
namespace {

using Files = std::vector<std::string>;

/// Prints "PUBLIC FILE", which is also the form of a line in a list of allowed keys.
void print_keys(const GlobalOptions& options, const std::vector<std::pair<std::string, std::string>>& keys) {
  auto list = nlohmann::json::array();
  for (const auto& [key, file] : keys) {
    list.push_back({{"publicKey", key}, {"file", file}});
    if (!options.json) std::cout << key << " " << file << "\n";
  }
  if (options.json) std::cout << list.dump() << "\n";
}

Result<int> make(const GlobalOptions& options, const Files& files) {
  std::vector<std::pair<std::string, std::string>> made;
  for (const auto& file : files) {
    const auto keys = TRY(rpc::make_key_pair());
    TRY(rpc::write_key_file(file, keys));
    made.emplace_back(hex_encode(keys.public_key), file);
  }
  print_keys(options, made);
  return kOk;
}

Result<int> show(const GlobalOptions& options, const Files& files) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& file : files) found.emplace_back(hex_encode(TRY(rpc::read_key_file(file)).public_key), file);
  print_keys(options, found);
  return kOk;
}

}  // namespace

void add_key_commands(const Commands& program) {
  const auto keys =
      program.family("keys", "make the keys by which workers, the api and the stores know each other across machines");
  auto files = std::make_shared<Files>();
  keys.add("make", "make a key file for a process, and print its public key",
           [files](const GlobalOptions& options) { return make(options, *files); })
      .add_option("file", *files, "where to write it, with mode 0600; a file that exists is left alone")
      ->required();
  keys.add("show", "print the public key of a key file",
           [files](const GlobalOptions& options) { return show(options, *files); })
      .add_option("file", *files, "a key file")
      ->required();
}

}  // namespace tidemark::cli
