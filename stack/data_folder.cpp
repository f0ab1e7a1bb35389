#include "stack/data_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "common/base/descriptor.h"
#include "common/base/numbers.h"
#include "common/process/process.h"

namespace tidemark::stack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownLines = 3;

std::string user() {
  const auto* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::getuid());
}

Result<void> check_readable(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error) && !error) return {};
  if (!error && ::access(directory.c_str(), R_OK | X_OK) == 0) return {};
  return fail(ErrorCode::kConfigInvalid,
              "The user " + user() + " cannot read " + directory.string() + "; is it another user's stack?");
}

/// Returns the text between `name=` and the next blank.
std::optional<std::string> value_in(const std::string& line, const std::string& name) {
  const auto at = (" " + line).find(" " + name + "=");
  if (at == std::string::npos) return std::nullopt;
  const auto begin = at + name.size() + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
}

}  // namespace

Result<DataFolder> DataFolder::open(const fs::path& directory) {
  if (directory.empty()) return fail(ErrorCode::kConfigInvalid, "The name of the data directory is empty (--data).");
  TRY(check_readable(directory));
  std::error_code error;
  auto path = fs::weakly_canonical(fs::absolute(directory), error);
  DataFolder out(error ? fs::absolute(directory) : std::move(path));
  TRY(check_readable(out.path_ / "run"));
  return out;
}

bool DataFolder::is_mine() const {
  struct stat found{};
  return ::stat((path_ / "run").c_str(), &found) == 0 && found.st_uid == ::geteuid();
}

fs::path DataFolder::pid_file(std::string_view name) const { return path_ / "run" / (std::string(name) + ".pid"); }
fs::path DataFolder::log(std::string_view name) const { return path_ / "log" / (std::string(name) + ".log"); }
fs::path DataFolder::output(std::string_view name) const { return path_ / "log" / (std::string(name) + ".out"); }

std::optional<pid_t> DataFolder::running(std::string_view name) const {
  const Descriptor file(::open(pid_file(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  char text[32] = {};
  const auto size = ::read(file.get(), text, sizeof text - 1);
  std::string_view number(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (number.ends_with('\n')) number.remove_suffix(1);
  const auto pid = parse_number<pid_t>(number);
  if (!pid || *pid <= 0) return std::nullopt;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::nullopt;  // nobody has it
  return *pid;
}

std::vector<std::string> DataFolder::noted() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_ / "run", error)) {
    const auto& file = entry.path();
    if (file.extension() == ".pid" && file.stem() != kSupervisor) names.push_back(file.stem());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<Ready> DataFolder::ready(std::string_view name) const {
  std::ifstream in(output(name));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("ready ")) continue;
    Ready out;
    out.port = value_in(line, "port").value_or("");
    out.scheme = value_in(line, "scheme").value_or("http");
    // They become parts of a URL to which a token may be sent.
    if (!out.port.empty() && !parse_number<std::uint16_t>(out.port)) return std::nullopt;
    if (out.scheme != "http" && out.scheme != "https") return std::nullopt;
    const auto end_of_name = line.find(' ', std::string_view("ready ").size());
    if (end_of_name != std::string::npos) out.line = line.substr(end_of_name);
    return out;
  }
  return std::nullopt;
}

std::vector<std::string> DataFolder::end_of_log(std::string_view name, std::uintmax_t from) const {
  std::ifstream in(log(name));
  in.seekg(static_cast<std::streamoff>(from));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.contains(" info ")) continue;
    lines.push_back(std::move(line));
    if (lines.size() > kShownLines) lines.erase(lines.begin());
  }
  return lines;
}

Choices DataFolder::choices() const {
  Choices out;
  std::ifstream in(path_ / "run/stack");
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    const auto name = line.substr(0, equals);
    auto value = line.substr(equals + 1);
    if (name == "base") out.port_base = parse_number<std::uint16_t>(value);
    if (name == "tls_cert") out.certificate = std::move(value);
    if (name == "tls_key") out.key = std::move(value);
    if (name == "config") out.config = std::move(value);
  }
  return out;
}

Result<void> DataFolder::remember(const Choices& choices) const {
  const auto draft = path_ / "run/stack.draft";
  std::ofstream out(draft, std::ios::trunc);
  out << "base=" << (choices.port_base ? std::to_string(*choices.port_base) : "")
      << "\ntls_cert=" << choices.certificate << "\ntls_key=" << choices.key << "\nconfig=" << choices.config << "\n";
  std::error_code error;
  if (out.flush()) fs::rename(draft, path_ / "run/stack", error);
  if (out && !error) return {};
  return fail(
      ErrorCode::kStorageFailure,
      (path_ / "run/stack").string() + " cannot be written: the next start will not know the choices of this one.");
}

Result<void> DataFolder::prepare() const {
  for (const auto* folder : {"log", "run"}) TRY(process::prepare_directory(path_ / folder));
  return {};
}

void DataFolder::forget_processes() const {
  for (const auto& name : noted()) {
    std::error_code error;
    if (!running(name)) fs::remove(pid_file(name), error);
  }
}

}  // namespace tidemark::stack
