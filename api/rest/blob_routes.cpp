// Containers and blobs, for people: lists with their properties, and content both ways. Content streams in pieces, so a
// transfer holds a piece or two in memory however large the blob is.
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/resource_names.h"
#include "blob_store/client/blob_browser.h"
#include "blob_store/model/block_list.h"
#include "blob_store/model/conditions.h"
#include "blob_store/model/names.h"
#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

using blob_store::BlobFacts;
using blob_store::kMaxPieceBytes;

constexpr std::uint64_t kMaxUploadBytes = kMaxPieceBytes * blob_store::kMaxBlocksInList;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::map<std::string, std::string> map_of(const Pairs& pairs) { return {pairs.begin(), pairs.end()}; }

struct ShownContainer {
  std::string name, public_access;
  Time changed_at{};
  bool leased = false;
  std::optional<std::uint64_t> blobs, bytes;
  std::optional<bool> complete;
  static constexpr const char* kSchema = "Container";
  void members(jobs::SpecMembers& to) const {
    static constexpr std::array<std::string_view, 2> kAccess{"blob", "container"};
    to.shows("name", name);
    to.shows("changedAt", changed_at);
    to.shows("leased", leased);
    to.shows_unless_empty("publicAccess", public_access, {.one_of = kAccess});
    to.shows("blobs", blobs, {.meaning = "in lists, if asked for: how many there are, counted up to 1,000"});
    to.shows("bytes", bytes, {.meaning = "the size of the blobs that were counted"});
    to.shows("complete", complete, {.meaning = "false: there are more blobs than were counted"});
  }
};

struct ShownBlob {
  std::string name;
  BlobFacts facts;
  Time now{};
  bool whole = false;  // with metadata and tags
  static constexpr const char* kSchema = "Blob";
  void members(jobs::SpecMembers& to) const {
    static constexpr std::array<std::string_view, 3> kTypes{"BlockBlob", "AppendBlob", "PageBlob"};
    const auto if_whole = [this](const Pairs& pairs) { return whole ? std::optional(map_of(pairs)) : std::nullopt; };
    to.shows("name", name);
    to.shows("type", std::string(facts.type), {.one_of = kTypes});
    to.shows("size", facts.size);
    to.shows("changedAt", facts.changed);
    to.shows("createdAt", facts.created);
    to.shows("etag", '"' + facts.etag + '"');
    to.shows("leased", facts.lease.locked(now));
    to.shows_unless_empty("contentType", facts.headers.type);
    to.shows_unless_empty("contentEncoding", facts.headers.encoding);
    to.shows_unless_empty("contentLanguage", facts.headers.language);
    to.shows_unless_empty("contentDisposition", facts.headers.disposition);
    to.shows_unless_empty("cacheControl", facts.headers.cache_control);
    to.shows_unless_empty("contentMd5", facts.headers.md5);
    to.shows_unless_empty("tier", std::string(facts.tier));
    to.shows("metadata", if_whole(facts.metadata), {.meaning = "not in lists"});
    to.shows("tags", if_whole(facts.tags), {.meaning = "not in lists"});
  }
};

struct ShownFolder {
  std::string name;
  static constexpr const char* kSchema = "BlobFolder";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", name, {.meaning = "the beginning that the names of some blobs share, up to the delimiter"});
    to.shows("folder", true);
  }
};

constexpr std::uint32_t kMostBlobsCounted = 1000;     // in a container
constexpr std::uint32_t kMostContainersCounted = 50;  // on a page

/// Counts the blobs of each container up to a bound; one that is dropped meanwhile has no count.
Task<Result<void>> count_blobs(Api& api, std::vector<ShownContainer>& containers) {
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    auto& container = containers[number];
    auto page = co_await api.blobs->browse(container.name, {}, {}, {}, kMostBlobsCounted);
    if (page.failed_with(ErrorCode::kContainerNotFound)) co_return Result<void>();
    const auto counted = CO_TRY(std::move(page));
    std::uint64_t bytes = 0;
    for (const auto& blob : counted.blobs) bytes += blob.facts ? blob.facts->size : 0;
    container.blobs = counted.blobs.size();
    container.bytes = bytes;
    container.complete = counted.next.empty();
    co_return Result<void>();
  };
  co_return co_await side_by_side(api.clock, containers.size(), std::move(step));
}

Answer list_containers(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const bool counts = CO_TRY(parameters.flag("counts"));
  const auto limit = std::min(CO_TRY(parameters.limit()), counts ? kMostContainersCounted : UINT32_MAX);
  const auto page =
      CO_TRY(co_await api.blobs->containers(parameters.text("prefix"), parameters.text("continuation"), limit));
  std::vector<ShownContainer> containers;
  containers.reserve(page.containers.size());
  const auto now = api.clock.now();
  for (const auto& each : page.containers) {
    containers.push_back({each.name, each.public_access, each.changed, each.lease.locked(now), {}, {}, {}});
  }
  if (counts) CO_TRY(co_await count_blobs(api, containers));
  co_return page_response("containers", containers, page.next,
                          [](const ShownContainer& container) { return json_of(container); });
}

Answer make_container(Api& api, http::Request&, std::string container) {
  CO_TRY(check_may_change_container(container));
  CO_TRY(co_await api.blobs->ensure_container(std::move(container)));
  co_return no_content();
}

Answer drop_container(Api& api, http::Request&, std::string container) {
  CO_TRY(check_may_change_container(container));
  CO_TRY(co_await api.blobs->remove_container(std::move(container)));
  co_return no_content();
}

Answer list_blobs(Api& api, http::Request& request, std::string container) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto page =
      CO_TRY(co_await api.blobs->browse(std::move(container), parameters.text("prefix"), parameters.text("delimiter"),
                                        parameters.text("continuation"), limit));
  co_return page_response("blobs", page.blobs, page.next, [now = api.clock.now()](const auto& blob) {
    if (blob.facts) return json_of(ShownBlob{blob.name, *blob.facts, now});
    return json_of(ShownFolder{blob.name});
  });
}

/// Reads the name of the blob, and the other parameters of a request.
Result<std::pair<std::string, Parameters>> read_blob_name(const http::Request& request) {
  auto parameters = TRY(Parameters::read(request));
  auto name = blob_store::blob_name_of(parameters.text("name"));
  if (!name.empty()) return std::pair(std::move(name), std::move(parameters));
  return fail(ErrorCode::kInvalidQueryParameterValue, "name, the name of the blob, is needed.");
}

/// Adds the blob's name, which no other message contains because it is no part of the path.
Error with_name(Error error, const std::string& container, const std::string& name) {
  if (error.code == ErrorCode::kBlobNotFound) {
    error.message = "The specified blob does not exist: " + container + "/" + name;
  }
  return error;
}

Task<Result<BlobFacts>> facts_of(Api& api, const std::string& container, const std::string& name) {
  auto facts = co_await api.blobs->inspect(container, name);
  if (!facts) co_return fail(with_name(std::move(facts.error()), container, name));
  co_return facts;
}

Answer show(Api& api, std::string container, std::string name, unsigned status = 200) {
  const auto facts = CO_TRY(co_await facts_of(api, container, name));
  auto response = json_response(status, json_of(ShownBlob{name, facts, api.clock.now(), true}));
  response.set("ETag", '"' + facts.etag + '"');
  co_return response;
}

Answer show_blob(Api& api, http::Request& request, std::string container) {
  auto [name, parameters] = CO_TRY(read_blob_name(request));
  co_return co_await show(api, std::move(container), std::move(name));
}

/// Returns the ETag that the blob must have, or "*".
Result<std::string> wanted_tag(const http::Request& request) {
  const auto header = request.header("if-match");
  auto tags = header ? blob_store::parse_etags(*header) : std::vector<std::string>();
  if (tags.size() == 1 && !tags.front().empty()) return std::move(tags.front());
  return fail(ErrorCode::kMissingRequiredHeader,
              "If-Match is needed: the ETag of the blob as it was seen, or * for any.");
}

Answer erase_blob(Api& api, http::Request& request, Action& action, std::string container) {
  auto [name, parameters] = CO_TRY(read_blob_name(request));
  action.target = container + "/" + name;
  CO_TRY(check_may_change_container(container));
  const bool snapshots = CO_TRY(parameters.flag("snapshots"));
  auto removed = co_await api.blobs->remove(container, name, CO_TRY(wanted_tag(request)), snapshots);
  if (!removed) co_return fail(with_name(std::move(removed.error()), container, name));
  co_return no_content();
}

Result<std::shared_ptr<void>> take_transfer(const Api& api) {
  if (auto slot = api.transfers.take()) return slot;
  return fail(ErrorCode::kServerBusy,
              "As many blobs are on their way through the api as it carries at once. Try again "
              "later, or use the blob store's own endpoint.");
}

/// A part of a blob, as it was when the transfer began; if it changes meanwhile, the answer ends short.
class BlobContent : public http::BodySource {
 public:
  struct Part {
    std::string container, name;
    blob_store::Stamp version;
    std::uint64_t offset, end;
  };
  BlobContent(const blob_store::BlobBrowser& blobs, Part part, std::shared_ptr<void> slot)
      : blobs_(blobs), part_(std::move(part)), slot_(std::move(slot)) {}

  Task<Result<std::string>> next() override {
    if (part_.offset >= part_.end) co_return std::string();
    auto piece = CO_TRY(co_await blobs_.read(part_.container, part_.name, part_.offset, part_.version));
    if (!piece || piece->bytes.empty()) co_return fail(ErrorCode::kBlobNotFound);
    const auto left = part_.end - part_.offset;
    if (piece->bytes.size() > left) piece->bytes.resize(left);
    part_.offset += piece->bytes.size();
    co_return std::move(piece->bytes);
  }

 private:
  const blob_store::BlobBrowser& blobs_;
  Part part_;
  std::shared_ptr<void> slot_;
};

/// A browser must save the bytes, and never run them as a page of the api.
http::Response attachment(const std::string& name, const BlobFacts& facts) {
  http::Response response;
  response.set("Content-Type", "application/octet-stream");
  response.set("Content-Disposition",
               "attachment; filename*=UTF-8''" + percent_encode(name.substr(name.rfind('/') + 1)));
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Content-Security-Policy", "default-src 'none'; sandbox");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cache-Control", "no-store");
  response.set("ETag", '"' + facts.etag + '"');
  return response;
}

Answer download(Api& api, http::Request& request, std::string container) {
  auto [name, parameters] = CO_TRY(read_blob_name(request));
  const auto from = CO_TRY(parameters.number("offset", 0, INT64_MAX)).value_or(0);
  const auto most = CO_TRY(parameters.number("length", 0, INT64_MAX)).value_or(INT64_MAX);
  auto slot = CO_TRY(take_transfer(api));
  const auto facts = CO_TRY(co_await facts_of(api, container, name));
  const auto offset = std::min(static_cast<std::uint64_t>(from), facts.size);
  const auto length = std::min(static_cast<std::uint64_t>(most), facts.size - offset);
  auto response = attachment(name, facts);
  if (length == 0) co_return response;
  response.source_length = length;
  response.source = std::make_unique<BlobContent>(
      *api.blobs, BlobContent::Part{std::move(container), std::move(name), facts.version, offset, offset + length},
      std::move(slot));
  co_return response;
}

/// The start of an upload: the properties that it takes over from the blob that it replaces, and that blob's ETag.
struct Begun {
  blob_store::NewContent content;
  std::string if_match;
};

/// Refuses early an upload that would be refused at its end.
Task<Result<Begun>> begin_content(Api& api, const std::string& container, const std::string& name,
                                  const std::string& if_match) {
  auto there = co_await api.blobs->inspect(container, name);
  if (!there && !there.failed_with(ErrorCode::kBlobNotFound)) co_return fail(there.error());
  if (there && if_match.empty()) co_return fail(ErrorCode::kBlobAlreadyExists);
  Begun begun;
  auto& headers = begun.content.headers;
  headers.type = "application/octet-stream";
  if (if_match.empty()) co_return begun;
  if (!there || (if_match != "*" && if_match != there->etag)) co_return fail(ErrorCode::kConditionNotMet);
  headers = std::move(there->headers);
  headers.md5.clear();
  headers.encoding.clear();
  begun.content.metadata = std::move(there->metadata);
  begun.content.tags = std::move(there->tags);
  begun.if_match = std::move(there->etag);
  co_return begun;
}

/// Reads the next piece of the body, a full one unless it is the last; empty at the end.
Task<Result<std::string>> next_piece(http::BodyReader& body) {
  std::string piece;
  while (piece.size() < kMaxPieceBytes) {
    const auto some = CO_TRY(co_await body.read_some(kMaxPieceBytes - piece.size()));
    if (some.empty()) break;
    piece += some;
  }
  co_return piece;
}

/// Stages the whole body under the name of the upload; returns the number of pieces.
Task<Result<std::uint32_t>> send_pieces(Api& api, http::BodyReader& body, const std::string& container,
                                        const std::string& name, const std::string& upload) {
  if (body.content_length().value_or(0) > kMaxUploadBytes) co_return fail(ErrorCode::kRequestBodyTooLarge);
  for (std::uint32_t count = 0;; ++count) {
    auto piece = CO_TRY(co_await next_piece(body));
    if (piece.empty()) co_return count;
    if (count == blob_store::kMaxBlocksInList) co_return fail(ErrorCode::kRequestBodyTooLarge);
    CO_TRY(co_await api.blobs->upload_piece(container, name, upload, count, std::move(piece)));
  }
}

Answer upload(Api& api, http::Request& request, Action& action, std::string container) {
  auto [name, parameters] = CO_TRY(read_blob_name(request));
  action.target = container + "/" + name;
  CO_TRY(check_may_change_container(container));
  const bool insert = request.header("if-none-match") == "*";
  const auto if_match = insert ? std::string() : CO_TRY(wanted_tag(request));
  blob_store::ContentHeaders given;
  given.type = parameters.text("contentType");
  CO_TRY(blob_store::check_content_headers(given));
  const auto slot = CO_TRY(take_transfer(api));
  CO_TRY(co_await begin_content(api, container, name, if_match));  // before the content is sent
  const auto id = api.random.guid();
  const auto count = CO_TRY(co_await send_pieces(api, *request.body, container, name, id));
  action.count = static_cast<std::int64_t>(request.body->bytes_read());
  auto begun = CO_TRY(co_await begin_content(api, container, name, if_match));
  if (!given.type.empty()) begun.content.headers.type = given.type;
  CO_TRY(co_await api.blobs->finish_upload(container, name, id, count, std::move(begun.content), begun.if_match));
  co_return co_await show(api, std::move(container), std::move(name), insert ? 201 : 200);
}

}  // namespace

std::span<const Route> blob_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/containers", Role::kViewer, list_containers},
      {"PUT", "v1/containers/*", Role::kOperator, make_container},
      {"DELETE", "v1/containers/*", Role::kAdmin, drop_container},
      {"GET", "v1/containers/*/blobs", Role::kViewer, list_blobs},
      {"GET", "v1/containers/*/blob", Role::kViewer, show_blob},
      {"DELETE", "v1/containers/*/blob", Role::kOperator, erase_blob},
      {"GET", "v1/containers/*/content", Role::kViewer, download},
      {"PUT", "v1/containers/*/content", Role::kOperator, upload, Entrance::kToken, Trail::kEntry, Body::kBytes},
  };
  return kRoutes;
}

nlohmann::ordered_json blob_schemas() {
  nlohmann::ordered_json out;
  jobs::add_answers<ShownContainer, ShownBlob, ShownFolder>(out);
  return out;
}

}  // namespace tidemark::api
