#include "tests/histories/blob_clients.h"

namespace tidemark::histories {
namespace {

constexpr const char* kVersion = "x-ms-version: 2021-12-02\r\n";
constexpr std::uint64_t kUsualBytes = 8'000, kMostBytes = 150'000;
/// The token of content that mixes several writes, so that no single write left it.
constexpr Token kTorn = kAnything - 1;
/// A blob is one row.
constexpr Row kBlob = 0;

std::string blob_path(const std::string& blob) { return "/box/" + blob; }

std::string line_of(Token token) { return "w" + std::to_string(token) + "\n"; }

Token token_of_content(std::string_view content) {
  const auto token = token_of(content.substr(0, content.find('\n')));
  const auto line = line_of(token);
  for (std::size_t at = 0; at < content.size(); at += line.size()) {
    if (!line.starts_with(content.substr(at, line.size()))) return kTorn;
  }
  return token;
}

std::string metadata_of(Token token) { return "x-ms-meta-token: w" + std::to_string(token) + "\r\n"; }

}  // namespace

std::string BlobWatcher::content(Token token) {
  const auto bytes = 1 + below(chance(5) ? kMostBytes : kUsualBytes);
  const auto line = line_of(token);
  std::string out;
  while (out.size() < bytes) out += line;
  return out;
}

void BlobWatcher::finish(Place& place, const std::string& blob, RegisterOperation operation, Change change,
                         const HttpAnswer& answer) {
  operation.changes = {change};
  const bool done = end_write(blob, std::move(operation), answer);
  place.asked(answer.sent && !done && !answer.refused());
  if (done && change.verb != Verb::kErase) book_.note_etag(blob, kBlob, answer.header("ETag"), change.token);
}

void BlobWatcher::put(Place& place, Verb verb, std::string_view condition, Token expected) {
  const auto blob = place.object();
  const auto token = workload_.next_token();
  HttpRequest request{"PUT", blob_path(blob), kVersion + metadata_of(token), content(token)};
  request.headers += "x-ms-blob-type: BlockBlob\r\n" + std::string(condition);
  auto operation = begin();
  const auto answer = ask(workload_.blob_ports, request);
  finish(place, blob, std::move(operation), {verb, kBlob, token, expected}, answer);
}

void BlobWatcher::put_blocks(Place& place) {
  const auto blob = place.object();
  const auto token = workload_.next_token();
  std::string listed;
  for (int part = 0; part < 2; ++part) {
    auto id = std::to_string(token);
    id = std::string(10 - id.size(), '0') + id + std::to_string(part) + "A";  // Base64, each as long as the others
    listed += "<Latest>" + id + "</Latest>";
    const auto staged =
        ask(workload_.blob_ports, {"PUT", blob_path(blob), kVersion, content(token)}, "comp=block&blockid=" + id);
    if (!staged.ok()) return;  // nobody sees a staged block
  }
  auto operation = begin();
  const auto answer =
      ask(workload_.blob_ports,
          {"PUT", blob_path(blob), kVersion + metadata_of(token), "<BlockList>" + listed + "</BlockList>"},
          "comp=blocklist");
  if (answer.status == 400) return;  // another write has taken the blocks away
  finish(place, blob, std::move(operation), {Verb::kPut, kBlob, token}, answer);
}

void BlobWatcher::erase(Place& place) {
  const auto blob = place.object();
  auto operation = begin();
  const auto answer = ask(workload_.blob_ports, {"DELETE", blob_path(blob), kVersion, {}});
  finish(place, blob, std::move(operation), {Verb::kErase, kBlob}, answer);
}

void BlobWatcher::replace_what_is_known(Place& place) {
  const auto blob = place.object();
  const auto known = read(blob, "GET");
  if (known && place.is_current(blob)) put(place, Verb::kReplace, "If-Match: " + known->first + "\r\n", known->second);
}

std::optional<std::pair<std::string, Token>> BlobWatcher::read(const std::string& blob, const char* method) {
  auto operation = begin(method);
  const auto answer = ask(workload_.blob_ports, {method, blob_path(blob), kVersion, {}});
  if (!answer.ok() && answer.status != 404) return std::nullopt;
  operation.asked = {kBlob, kBlob, std::nullopt};
  const auto token = token_of(answer.header("x-ms-meta-token"));
  const bool whole = std::string_view(method) == "GET";
  if (answer.ok()) operation.seen[kBlob] = {token, whole ? token_of_content(answer.body) : token};
  end_read(blob, std::move(operation));
  if (!answer.ok()) return std::nullopt;
  book_.note_etag(blob, kBlob, answer.header("ETag"), token);
  return std::pair(std::string(answer.header("ETag")), token);
}

bool BlobWatcher::list() {
  std::vector<std::string> blobs;
  for (const auto& place : workload_.blobs) blobs.push_back(place.object());
  const auto begun = begin("list");
  std::map<std::string, Token> found;
  std::string marker;
  do {
    const auto answer = ask(workload_.blob_ports, {"GET", "/box", kVersion, {}},
                            "restype=container&comp=list&include=metadata" + marker);
    if (!answer.ok()) return false;
    const auto names = elements(answer.body, "Name");
    const auto tokens = elements(answer.body, "token");
    for (std::size_t i = 0; i < names.size() && i < tokens.size(); ++i) {
      found[std::string(names[i])] = token_of(tokens[i]);
    }
    const auto next = elements(answer.body, "NextMarker");
    marker = next.empty() || next.front().empty() ? "" : "&marker=" + std::string(next.front());
  } while (!marker.empty());
  for (const auto& blob : blobs) {
    auto operation = begun;
    operation.asked = {kBlob, kBlob, std::nullopt};
    if (const auto token = found.find(blob); token != found.end())
      operation.seen[kBlob] = {token->second, token->second};
    end_read(blob, std::move(operation));
  }
  return true;
}

void BlobWatcher::step() {
  // A blob that gets staged blocks is never erased: erasing removes the blocks too, so it succeeds even when readers
  // see no blob.
  const auto number = below(workload_.blobs.size());
  const bool staged = number % 2 == 0;
  auto& place = workload_.blobs[number];
  const auto choice = below(100);
  if (choice < 18) return put(place, Verb::kPut, "", kAnything);
  if (choice < 24) return put(place, Verb::kInsert, "If-None-Match: *\r\n", kAnything);
  if (choice < 34) return replace_what_is_known(place);
  if (choice < 50) return staged ? put_blocks(place) : erase(place);
  if (choice < 90) {
    read(place.object(), choice < 70 ? "GET" : "HEAD");
    return;
  }
  list();
}

bool BlobWatcher::look() { return list(); }

std::unique_ptr<Client> make_blob_client(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<BlobWatcher>(workload, number, seed);
}

}  // namespace tidemark::histories
