// One request on its way through the routes: what it asks for, who asks, and how the answer is to be written.
// Lives in the frame of TableRoutes::serve; used by one coroutine at a time.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/http/http.h"
#include "common/protocol/cors.h"
#include "table_store/rest/odata_json.h"
#include "table_store/rest/table_url.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

/// Body and answer sizes of the protocol.
inline constexpr std::size_t kMaxBody = 4UL << 20;
/// A list stops growing here; one more entity of at most 1 MiB still fits the 4 MiB that clients accept.
inline constexpr std::size_t kFullPage = 3UL << 20;

struct Call {
  http::Request& http;
  TableService& service;
  Clock& clock;
  Random& random;
  protocol::CorsPolicies& cors;
  std::string_view host = {};
  auth::Resource resource = {};
  auth::Identity identity = {};
  bool authenticated = false;
  TableUrl url = {};
  QueryParameters parameters = {};
  std::string_view method = {};  // after X-HTTP-Method
  std::string base = {};         // "http://host/account"
  MetadataLevel level = MetadataLevel::kMinimal;

  [[nodiscard]] const std::string& account() const { return resource.account; }
  /// The value of a query parameter; names are matched exactly.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] JsonScope scope() const { return {base, resource.account, url.table, level, nullptr}; }
  /// kAuthorization*: see auth.h. For a table SAS the resource is the URL's table.
  [[nodiscard]] Result<void> allow(const auth::Need& need) const;
  /// The key range of a table SAS; unbounded for everyone else.
  [[nodiscard]] KeyBounds bounds() const;
};

/// $format wins over Accept; nothing and "*/*" mean minimal metadata. kMediaTypeNotSupported for Atom and verbose.
Result<MetadataLevel> metadata_level(std::optional<std::string_view> format, std::optional<std::string_view> accept);

/// The content type of a JSON answer.
std::string_view json_content_type(MetadataLevel level);

/// "return-content" and "return-no-content"; anything else is ignored.
enum class Prefer { kNone, kContent, kNoContent };
Prefer parse_prefer(std::optional<std::string_view> header);

}  // namespace tidemark::table_store
