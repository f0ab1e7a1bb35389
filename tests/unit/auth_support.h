// A request that owns its text, for the tests of authentication, and the vectors that they share.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/base/encoding.h"

namespace tidemark::auth::testing {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct Call {
  Service service = Service::kQueue;
  std::string method = "GET";
  std::string path = "/";
  std::string query;
  HeaderList headers;
  std::string host = "127.0.0.1:10000";
  std::string remote = "127.0.0.1";
};

inline Time at(const char* text) { return parse_iso8601(text).value(); }
inline const char* const kVectorDate = "Mon, 01 Jan 2024 00:00:00 GMT";
inline Time vector_time() { return at("2024-01-01T00:00:00Z"); }
/// A time within the validity of every SAS vector.
inline Time sas_time() { return at("2026-01-01T00:00:00Z"); }

inline std::vector<Account> accounts() { return {development_account(), {"other", {"secret-a", "secret-b"}}}; }

inline Result<Identity> run(const Call& call, Time now, Policy policy = {}, const PolicyLookup& find_policy = {}) {
  std::vector<std::pair<std::string_view, std::string_view>> headers(call.headers.begin(), call.headers.end());
  SignedRequest request;
  request.method = call.method;
  request.path = call.path;
  request.query = call.query;
  request.headers = &headers;
  request.remote_address = call.remote;
  request.host = call.host;
  const auto known = accounts();
  auto resource = TRY(parse_resource(call.host, call.path, known));
  return authenticate(call.service, request, resource, known, now, policy, find_policy);
}

inline ErrorCode code_of(const Result<Identity>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::kInternalError : result.error().code;
}

/// Signs `text` as a client would.
inline std::string signed_with(const std::string& key, const std::string& text) {
  return base64_encode(hmac_sha256(key, text));
}
inline std::string development_key() { return development_account().keys.front(); }

struct Vector {
  const char* name;
  Call call;
};

/// V1 to V11 of the protocol notes, each computed by an independent program and accepted by a reference server.
std::vector<Vector> shared_key_vectors();
/// A1, A2, T1 to T3, Q1, Q2, B1 to B3: output of the vendor's SDK.
std::vector<Vector> sas_vectors();
/// T2 names a stored policy; this lookup provides it.
PolicyLookup policy_of_t2();

}  // namespace tidemark::auth::testing
