// One request on its way through the routes: its target, its caller, and the form of the answer. It lives in the frame
// of TableRoutes::serve and is used by one coroutine at a time.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/service/front.h"
#include "table_store/odata/odata_json.h"
#include "table_store/odata/table_url.h"
#include "table_store/rest/batch_mime.h"
#include "table_store/storage/served_calls.h"

namespace tidemark::table_store {

/// Body and answer sizes of the protocol.
inline constexpr std::size_t kMaxBody = 4UL << 20;
/// The size of the longest page; the entity that would exceed it begins the next one.
inline constexpr std::size_t kMaxPage = 4UL << 20;

using service::Answer;

struct Call : service::Call {
  Call(service::Front& face, http::Request& request, TableService& tables, Random& guids)
      : service::Call(face, request), service(tables), random(guids), method(request.method) {}

  TableService& service;
  Random& random;
  TableUrl url;
  std::string_view method;  // after X-HTTP-Method
  bool read = false;        // url and method have been read from the request
  bool batch = false;       // the URL was that of a batch, and is now that of its operations
  std::string base;         // "http://host/account"
  MetadataLevel level = MetadataLevel::kMinimal;

  /// Returns the value of a query parameter; OData's names are matched exactly.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] JsonScope scope() const { return {base, account(), url.table, level, nullptr}; }
  /// kAuthorization*: see authenticator.h. For a table SAS the resource is the URL's table.
  [[nodiscard]] Result<void> allow(const auth::Need& need) const;
  /// Returns the key range of a table SAS; unbounded for every other caller.
  [[nodiscard]] KeyBounds bounds() const;
};

/// Returns the verb of a request or of a part of a batch; X-HTTP-Method tunnels other verbs through POST.
/// kXMethodIncorrectCount, kXMethodNotUsingPost, kXMethodIncorrectValue.
Result<std::string_view> effective_method(std::string_view method, const HeaderList& headers);

/// Bodies must be JSON, which is also the default. kAtomFormatNotSupported, kMediaTypeNotSupported.
Result<void> check_body_type(std::optional<std::string_view> content_type);

/// $format overrides Accept; neither of them, or "*/*", means minimal metadata. kAtomFormatNotSupported,
/// kJsonFormatNotSupported (verbose), kMediaTypeNotSupported.
Result<MetadataLevel> metadata_level(std::optional<std::string_view> format, std::optional<std::string_view> accept);

/// Refuses options of queries that are not offered, instead of answering as if they had not been given:
/// kNotImplemented, and kInvalidInput if there is no such option. Names are matched exactly, so `$Filter` is none.
Result<void> check_options(const QueryParameters& parameters);

/// Returns the content type of a JSON answer.
std::string_view json_content_type(MetadataLevel level);

/// The values "return-content" and "return-no-content"; anything else is ignored.
enum class Prefer { kNone, kContent, kNoContent };
Prefer parse_prefer(std::optional<std::string_view> header);
/// Begins the answer to a creation. Returns true if the client wants the content, which the caller adds. If `location`
/// is empty, the answer does not have it.
bool begin_created(http::Response& response, const Call& call, const std::string& location);

}  // namespace tidemark::table_store
