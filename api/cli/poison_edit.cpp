#include "api/cli/poison_edit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/cli/answers.h"
#include "common/base/descriptor.h"
#include "common/base/encoding.h"
#include "common/base/json.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLeastEncoded = 8;  // shorter ones may be Base64 by chance
constexpr const char* kWritten = "; what you wrote is in ";
// Members of a stored job that the api adds again.
constexpr const char* kNotOfTheSpec[] = {"jobId", "group", "after"};

/// Creates a file that nobody else can read.
Result<std::string> temporary_file(const std::string& text, const char* ending) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/tidemark-XXXXXX" + ending;
  const Descriptor file(::mkstemps(path.data(), static_cast<int>(std::string_view(ending).size())));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(ErrorCode::kConfigInvalid, "cannot write " + path);
  }
  return path;
}

Result<void> run_editor(const std::string& path) {
  const char* editor = std::getenv("VISUAL");
  if (editor == nullptr || *editor == '\0') editor = std::getenv("EDITOR");
  if (editor == nullptr || *editor == '\0') editor = "vi";
  // As usual, it may be a command with arguments.
  const auto line = std::string(editor) + " '" + path + "'";
  if (std::system(line.c_str()) == 0) return {};
  return fail(ErrorCode::kConfigInvalid, "the editor " + std::string(editor) + " failed: set EDITOR, or use --file");
}

/// Returns the job in it, if it is the output of `poison show --json`.
json job_in(json given) {
  if (given.is_object() && given.contains("body") && given.contains("id")) given = json(given["body"]);
  if (!given.is_object()) return given;
  for (const auto* member : kNotOfTheSpec) given.erase(member);
  return given;
}

Result<std::string> job_text(const std::string& text) { return job_in(TRY(read_json(text))).dump(); }

Result<std::string> message_text(const std::string& text) {
  if (!is_valid_utf8(text)) return fail(ErrorCode::kInvalidInput, "the file is not UTF-8 text");
  return json{{"body", text}}.dump();
}

/// Editors add a newline at the end of the last line.
std::string without_added_newline(std::string text, const std::string& before) {
  if (before.ends_with('\n') || !text.ends_with('\n')) return text;
  text.pop_back();
  if (text.ends_with('\r') && !before.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> decoded_text(const std::string& text) {
  if (text.size() < kLeastEncoded) return std::nullopt;
  auto decoded = base64_decode_wrapped(text);
  if (!decoded || !is_valid_utf8(*decoded)) return std::nullopt;
  const auto shown = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r';
  };
  return std::ranges::all_of(*decoded, shown) ? std::move(decoded) : std::nullopt;
}

HttpHeaders EditedMessage::condition() const { return etag.empty() ? HttpHeaders() : HttpHeaders{{"If-Match", etag}}; }

Result<EditedMessage> edited_in(const std::string& file, const PoisonQueue& queue) {
  auto text = TRY(read_file(file));
  const auto given = json_or_discarded(text);
  const bool printed = given.is_object() && given.contains("body") && given.contains("queue") && given.contains("id");
  auto etag = printed ? cell(given, "etag") : std::string();
  if (queue.name.empty()) return EditedMessage{TRY(job_text(text)), std::move(etag)};
  return EditedMessage{TRY(message_text(printed ? cell(given, "body") : text)), std::move(etag)};
}

Result<std::optional<EditedMessage>> edit_by_hand(const GlobalOptions& options, const std::string& id,
                                                  const PoisonQueue& queue) {
  auto api = TRY(ApiClient::create(options));
  const auto message = TRY(api.call("GET", TRY(queue.path(options, id))));
  const bool job = queue.name.empty();
  const auto body = cell(message, "body");
  const auto decoded = job ? std::nullopt : decoded_text(body);
  const auto before = job ? job_in(message.value("body", json())).dump(2) + "\n" : decoded.value_or(body);
  const auto path = TRY(temporary_file(before, job ? ".json" : ".txt"));
  TRY(run_editor(path));
  const auto after = without_added_newline(TRY(read_file(path)), before);
  if (after == before) {
    std::filesystem::remove(path);
    return std::optional<EditedMessage>();
  }
  auto content = job ? job_text(after) : message_text(decoded ? base64_encode(after) : after);
  if (!content) return fail(content.error().code, content.error().message + kWritten + path);
  return std::optional(EditedMessage{std::move(*content), cell(message, "etag"), path});
}

Result<json> save_edited(const GlobalOptions& options, const std::string& path, const EditedMessage& edited) {
  auto api = TRY(ApiClient::create(options));
  auto saved = api.call("PUT", path, edited.content, edited.condition());
  if (edited.file.empty()) return saved;
  if (saved) std::filesystem::remove(edited.file);
  if (!saved) saved.error().message += kWritten + edited.file;
  return saved;
}

}  // namespace tidemark::cli
