// One request on its way through the routes: what it asks for, who asks, and how the answer is to be written.
// Lives in the frame of TableRoutes::serve; used by one coroutine at a time.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/service/front.h"
#include "table_store/odata/odata_json.h"
#include "table_store/odata/table_url.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

/// Body and answer sizes of the protocol.
inline constexpr std::size_t kMaxBody = 4UL << 20;
/// The longest list; the entity that would make it longer begins the next page.
inline constexpr std::size_t kMaxPage = 4UL << 20;

using service::Answer;

struct Call : service::Call {
  Call(service::Front& face, http::Request& request, TableService& tables, Random& guids)
      : service::Call(face, request), service(tables), random(guids), method(request.method) {}

  TableService& service;
  Random& random;
  TableUrl url;
  std::string_view method;  // after X-HTTP-Method
  std::string base;         // "http://host/account"
  MetadataLevel level = MetadataLevel::kMinimal;

  /// The value of a query parameter; OData's names are matched exactly.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] JsonScope scope() const { return {base, account(), url.table, level, nullptr}; }
  /// kAuthorization*: see authenticator.h. For a table SAS the resource is the URL's table.
  [[nodiscard]] Result<void> allow(const auth::Need& need) const;
  /// The key range of a table SAS; unbounded for everyone else.
  [[nodiscard]] KeyBounds bounds() const;
};

using HeaderList = std::vector<std::pair<std::string_view, std::string_view>>;

/// The verb that a request or a part of a batch stands for: X-HTTP-Method tunnels others through POST.
/// kXMethodIncorrectCount, kXMethodNotUsingPost, kXMethodIncorrectValue.
Result<std::string_view> effective_method(std::string_view method, const HeaderList& headers);

/// Entities and tables come as JSON; nothing said is taken for it. kAtomFormatNotSupported, kMediaTypeNotSupported.
Result<void> check_body_type(std::optional<std::string_view> content_type);

/// $format wins over Accept; nothing and "*/*" mean minimal metadata. kAtomFormatNotSupported, kJsonFormatNotSupported
/// (verbose), kMediaTypeNotSupported.
Result<MetadataLevel> metadata_level(std::optional<std::string_view> format, std::optional<std::string_view> accept);

/// The content type of a JSON answer.
std::string_view json_content_type(MetadataLevel level);

/// "return-content" and "return-no-content"; anything else is ignored.
enum class Prefer { kNone, kContent, kNoContent };
Prefer parse_prefer(std::optional<std::string_view> header);

}  // namespace tidemark::table_store
