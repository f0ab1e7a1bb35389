// Authentication of a whole request: host, path, query, then headers, a line each. No input may be authenticated, since
// none can know the key.
#include "common/auth/authenticator.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace tidemark;
using namespace tidemark::auth;

Result<std::optional<StoredPolicy>> find_policy(std::string_view, std::string_view, std::string_view id) {
  if (id == "gone") return std::optional<StoredPolicy>{};
  StoredPolicy policy;
  policy.id = id;
  policy.expiry = "2030-01-01T00:00:00Z";
  return std::optional<StoredPolicy>(policy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::vector<Account> accounts{{"acct", {"a key that is in no corpus: 6f1c2f0b9d"}}};
  auto rest = fuzz::text_of(bytes, size);
  SignedRequest request;
  request.method = fuzz::take_until(rest, '\n');
  request.host = fuzz::take_until(rest, '\n');
  request.path = fuzz::take_until(rest, '\n');
  request.query = fuzz::take_until(rest, '\n');
  request.remote_address = "127.0.0.1";
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  while (!rest.empty() && headers.size() < 100) {
    auto line = fuzz::take_until(rest, '\n');
    const auto name = fuzz::take_until(line, ':');
    headers.emplace_back(name, line);
  }
  request.headers = &headers;
  const auto resource = parse_resource(request.host, request.path, accounts);
  if (!resource) return 0;
  const Time now{Ticks(17'000'000'000'000'000)};
  for (const auto service : {Service::kTable, Service::kQueue, Service::kBlob}) {
    const auto identity = authenticate(service, request, *resource, accounts, now, Policy{}, find_policy);
    fuzz::require(!identity, "no input authenticates itself");
  }
  return 0;
}
