// Authenticates a raw request and decides whether its caller may do an operation. Verifies SharedKey, SharedKeyLite,
// the kinds of SAS, and bearer tokens. Pure bytes: no socket, no clock. Rules and test vectors: the storage services'
// REST documentation, "Authorize with Shared Key" and "Create a service/account SAS".
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/query.h"
#include "common/base/stored_policy.h"
#include "common/base/time.h"

namespace tidemark::auth {

enum class Service { kBlob, kQueue, kTable };

/// The limits of an account in a store. 0 means no limit; nothing means the limit in the store's settings.
struct Bounds {
  std::optional<std::uint64_t> units = {};  // tables, queues or containers
  std::optional<std::uint64_t> bytes = {};
};

struct Account {
  std::string name;
  std::vector<std::string> keys;      // decoded, one or two
  std::array<Bounds, 3> bounds = {};  // by Service
};

/// The request as it was on the wire.
struct SignedRequest {
  std::string_view method;
  std::string_view path;                                                                // raw
  std::string_view query;                                                               // raw
  const std::vector<std::pair<std::string_view, std::string_view>>* headers = nullptr;  // never null
  std::string_view remote_address;
  std::string_view host;                        // the Host header
  const QueryParameters* parameters = nullptr;  // the decoded query; null if it was not decoded yet
  bool tls = false;                             // the client used HTTPS
};

class TokenCheck;

struct Policy {                  // settings of the process
  bool check_clock_skew = true;  // 15 minutes
  bool allow_anonymous = false;
  /// Believe the X-Forwarded-Proto of a TLS terminator in front (service::Front). Only for listeners that nothing else
  /// can reach, because any client could send that header.
  bool trust_forwarded_proto = false;
  std::shared_ptr<TokenCheck> tokens = {};  // which bearer tokens are accepted; null: none
};

/// Follows the account's name in the path of its secondary location.
inline constexpr std::string_view kSecondary = "-secondary";
/// The resource that the URL names, in path style or host style.
struct Resource {
  std::string account;
  bool secondary = false;
  std::string_view rest;  // raw path after the account, without the leading '/'
};
Result<Resource> parse_resource(std::string_view host, std::string_view raw_path, const std::vector<Account>& accounts);

/// Finds the resource's stored policy `id`; called during authentication if a SAS names a policy (si=).
using PolicyLookup = std::function<Result<std::optional<StoredPolicy>>(std::string_view account,
                                                                       std::string_view resource, std::string_view id)>;

enum class Scheme { kSharedKey, kAccountSas, kServiceSas, kAnonymous, kBearer };

/// Built-in roles for data, one bit each: see roles.h.
using Roles = std::uint16_t;

/// The rights of an authenticated caller; SharedKey gives all.
struct Identity {
  Scheme scheme = Scheme::kAnonymous;
  std::string account;
  std::string permissions;     // SAS letters
  std::string services;        // account SAS: letters of ss
  std::string resource_types;  // account SAS: letters of srt
  std::string resource;        // service SAS: table (lower case), queue, or container[/blob] it covers
  std::string version;         // the protocol version that the request asks for; empty: any
  // Table SAS key range; absent parts do not bound.
  std::optional<std::string> start_pk, start_rk, end_pk, end_rk;
  // Blob SAS response overrides, by header name.
  std::vector<std::pair<std::string, std::string>> response_overrides;
  // A bearer, or the bearer that delegated its rights by a SAS: its roles for the service, and its identity. A SAS
  // without an object_id is signed with the account's own key.
  Service service = Service::kBlob;
  Roles roles = 0;
  std::string object_id, tenant_id;
};

/// Verifies the signature and everything else that does not depend on the operation: dates, address, protocol, service.
/// Errors: kAuthenticationFailed, kInvalidAuthenticationInfo, kNoAuthenticationInformation, kAuthorization*, and
/// kInvalidHeaderValue if x-ms-version is not a version.
Result<Identity> authenticate(Service service, const SignedRequest& request, const Resource& resource,
                              const std::vector<Account>& accounts, Time now, const Policy& policy,
                              const PolicyLookup& find_policy);

enum class ResourceType : char { kService = 's', kContainer = 'c', kObject = 'o' };

/// The rights that an operation needs from a SAS or from the roles of a bearer: one permission of `any_of`, or all of
/// `all_of` if that is given. `service_sas` is false for operations that a service SAS can never grant. A service SAS
/// must cover `resource_name`. Errors: kAuthorizationPermissionMismatch, kAuthorizationResourceTypeMismatch,
/// kAuthorizationFailure.
struct Need {
  ResourceType type;
  std::string_view any_of;
  std::string_view all_of = {};
  bool service_sas = true;
  bool any_sas = true;  // false: only an account key is accepted (ACLs)
};
Result<void> authorize(const Identity& identity, const Need& need, std::string_view resource_name);

/// The well-known development account.
Account development_account();

}  // namespace tidemark::auth
