#include "common/auth/sas.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "common/auth/delegation.h"
#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::auth {
namespace {

using Field = std::pair<std::string_view, std::string_view SasFields::*>;
constexpr std::array<Field, 36> kFields{{
    {"sv", &SasFields::sv},     {"ss", &SasFields::ss},           {"srt", &SasFields::srt},
    {"sp", &SasFields::sp},     {"st", &SasFields::st},           {"se", &SasFields::se},
    {"sip", &SasFields::sip},   {"spr", &SasFields::spr},         {"ses", &SasFields::ses},
    {"si", &SasFields::si},     {"sig", &SasFields::sig},         {"sr", &SasFields::sr},
    {"tn", &SasFields::tn},     {"spk", &SasFields::spk},         {"srk", &SasFields::srk},
    {"epk", &SasFields::epk},   {"erk", &SasFields::erk},         {"rscc", &SasFields::rscc},
    {"rscd", &SasFields::rscd}, {"rsce", &SasFields::rsce},       {"rscl", &SasFields::rscl},
    {"rsct", &SasFields::rsct}, {"skoid", &SasFields::skoid},     {"sktid", &SasFields::sktid},
    {"skt", &SasFields::skt},   {"ske", &SasFields::ske},         {"sks", &SasFields::sks},
    {"skv", &SasFields::skv},   {"saoid", &SasFields::saoid},     {"suoid", &SasFields::suoid},
    {"scid", &SasFields::scid}, {"skdutid", &SasFields::skdutid}, {"sduoid", &SasFields::sduoid},
    {"srh", &SasFields::srh},   {"srq", &SasFields::srq},         {"snapshot", &SasFields::snapshot},
}};

// Versions are dates, so they compare as text.
constexpr std::string_view kOldest = "2012-02-12";
constexpr std::string_view kOverridesSince = "2013-08-15";
constexpr std::string_view kServiceSegmentSince = "2015-02-21";
constexpr std::string_view kAddressSince = "2015-04-05";
constexpr std::string_view kResourceKindSince = "2018-11-09";
constexpr std::string_view kAgentsSince = "2020-02-10";
constexpr std::string_view kEncryptionScopeSince = "2020-12-06";
// User delegation for a given user, and any user delegation for queues and tables.
constexpr std::string_view kDelegatedUserSince = "2025-07-05";
constexpr std::string_view kSignedRequestSince = "2026-04-06";

Error mismatch() {
  return authentication_failed(
      "The signature of the SAS does not match its fields. Use the token exactly as it was generated, with the account "
      "key that is in force and for the resource it was made for.");
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool only_letters_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string_view name_of(Service service) {
  constexpr std::string_view kNames[] = {"/blob", "/queue", "/table"};
  return kNames[static_cast<std::size_t>(service)];
}

char letter_of(Service service) { return name_of(service)[1]; }

std::string account_text(const Account& account, const SasFields& f) {
  std::string text;
  text.reserve(256);
  for (const auto field : {std::string_view(account.name), f.sp, f.ss, f.srt, f.st, f.se, f.sip, f.spr, f.sv}) {
    text.append(field);
    text.push_back('\n');
  }
  if (f.sv >= kEncryptionScopeSince) {
    text.append(f.ses);
    text.push_back('\n');
  }
  return text;
}

Result<Identity> verify_account_sas(Service service, const SignedRequest& request, const Account& account,
                                    const SasFields& f, Time now, bool https) {
  const auto text = account_text(account, f);
  if (!signature_matches(account, text, f.sig, Repeated::kYes)) return fail(mismatch());
  if (f.sp.empty() || !only_letters_of(f.ss, "bqtf") || !only_letters_of(f.srt, "sco")) {
    return fail(authentication_failed("sp, ss (letters of bqtf) and srt (letters of sco) of the SAS must be given."));
  }
  TRY(check_conditions(f.st, f.se, f, request.remote_address, https, now));
  if (f.ss.find(letter_of(service)) == f.ss.npos) return fail(ErrorCode::kAuthorizationServiceMismatch);
  Identity identity;
  identity.scheme = Scheme::kAccountSas;
  identity.account = account.name;
  identity.permissions = f.sp;
  identity.services = f.ss;
  identity.resource_types = f.srt;
  identity.version = f.sv;
  return identity;
}

/// Returns the name that is signed, which is the service's own form of it: a table's name in lower case, a blob's name
/// with slashes for backslashes, however the URL writes them.
std::string signed_name(Service service, std::string_view name) {
  auto signed_as = service == Service::kTable ? to_lower_ascii(name) : std::string(name);
  if (service == Service::kBlob) std::ranges::replace(signed_as, '\\', '/');
  return signed_as;
}

// The resource that a service SAS covers: `name` as in Identity::resource; `holder` is the table, queue or container
// whose policies apply.
struct Coverage {
  std::string name;
  std::string holder;
};

Result<Coverage> coverage_of(Service service, const Resource& resource, const SasFields& f) {
  if (service == Service::kTable) {
    if (f.tn.empty()) return fail(authentication_failed("The SAS names no table (tn)."));
    auto table = signed_name(service, f.tn);
    return Coverage{table, table};
  }
  const auto slash = std::min(resource.rest.find('/'), resource.rest.size());
  auto holder = percent_decode(resource.rest.substr(0, slash), false);
  if (!holder || holder->empty() || has_control(*holder) || holder->find('/') != std::string::npos) {
    return fail(authentication_failed("The URL names no resource that a service SAS could cover."));
  }
  if (service == Service::kQueue || f.sr == "c") return Coverage{*holder, *holder};
  const bool of_snapshot = f.sr == "bs" && f.sv >= kResourceKindSince;
  if (f.sr != "b" && !of_snapshot) {
    return fail(authentication_failed(
        "sr must be c (container), b (blob) or, since 2018-11-09, bs (snapshot); other kinds are not supported."));
  }
  if (of_snapshot && f.snapshot.empty()) {
    return fail(authentication_failed("The SAS is for a snapshot (sr=bs) and the URL names none."));
  }
  auto blob = percent_decode(resource.rest.substr(std::min(slash + 1, resource.rest.size())), false);
  if (!blob || blob->empty() || has_control(*blob)) {
    return fail(authentication_failed("The SAS is for a blob (sr=b or bs) and the URL names none."));
  }
  return Coverage{signed_name(service, *holder + "/" + *blob), *holder};
}

void append_fields(std::string& out, std::initializer_list<std::string_view> fields) {
  for (const auto field : fields) {
    out.push_back('\n');
    out.append(field);
  }
}

/// Returns the beginning of the text: permissions, dates, resource.
std::string begin_text(Service service, const Account& account, const SasFields& f, const Coverage& covered) {
  std::string out;
  out.reserve(384);
  out.append(f.sp);
  append_fields(out, {f.st, f.se});
  out.push_back('\n');
  if (f.sv >= kServiceSegmentSince) out.append(name_of(service));
  out.push_back('/');
  out.append(account.name);
  out.push_back('/');
  out.append(covered.name);
  return out;
}

/// Appends the signed fields of the blob's kind. The time is that of the snapshot, if the SAS is for one.
void append_kind(std::string& out, const SasFields& f) {
  append_fields(out, {f.sr, f.sr == "bs" ? f.snapshot : std::string_view()});
}

std::string service_text(Service service, const Account& account, const SasFields& f, const Coverage& covered) {
  auto out = begin_text(service, account, f, covered);
  append_fields(out, {f.si});
  if (f.sv >= kAddressSince) append_fields(out, {f.sip, f.spr});
  append_fields(out, {f.sv});
  if (service == Service::kTable) append_fields(out, {f.spk, f.srk, f.epk, f.erk});
  if (service == Service::kBlob) {
    if (f.sv >= kResourceKindSince) append_kind(out, f);
    if (f.sv >= kEncryptionScopeSince) append_fields(out, {f.ses});
    if (f.sv >= kOverridesSince) append_fields(out, {f.rscc, f.rscd, f.rsce, f.rscl, f.rsct});
  }
  return out;
}

std::string delegated_text(Service service, const Account& account, const SasFields& f, const Coverage& covered) {
  auto out = begin_text(service, account, f, covered);
  append_fields(out, {f.skoid, f.sktid, f.skt, f.ske, f.sks, f.skv});
  if (service == Service::kBlob && f.sv >= kAgentsSince) append_fields(out, {f.saoid, f.suoid, f.scid});
  if (f.sv >= kDelegatedUserSince) append_fields(out, {f.skdutid, f.sduoid});
  append_fields(out, {f.sip, f.spr, f.sv});
  if (service == Service::kTable) append_fields(out, {f.spk, f.srk, f.epk, f.erk});
  if (service != Service::kBlob) return out;
  append_kind(out, f);
  if (f.sv >= kEncryptionScopeSince) append_fields(out, {f.ses});
  if (f.sv >= kSignedRequestSince) append_fields(out, {f.srh, f.srq});
  append_fields(out, {f.rscc, f.rscd, f.rsce, f.rscl, f.rsct});
  return out;
}

// Fields that the token's version does not sign must not be in it: anyone could have added them.
bool has_unsigned_fields(Service service, const SasFields& f) {
  if (f.sv < kAddressSince && (!f.sip.empty() || !f.spr.empty())) return true;
  const bool overrides = !f.rscc.empty() || !f.rscd.empty() || !f.rsce.empty() || !f.rscl.empty() || !f.rsct.empty();
  return service == Service::kBlob && f.sv < kOverridesSince && overrides;
}

struct Terms {
  std::string start, expiry, permission;
};

bool take_from_policy(std::string& term, const std::optional<std::string>& from_policy) {
  if (!from_policy || from_policy->empty()) return true;
  if (!term.empty()) return false;
  term = *from_policy;
  return true;
}

Result<Terms> terms_of(const SasFields& f, const Account& account, const Coverage& covered,
                       const PolicyLookup& find_policy) {
  Terms terms{std::string(f.st), std::string(f.se), std::string(f.sp)};
  if (!f.si.empty()) {
    if (!find_policy) return fail(authentication_failed("The stored access policy of the SAS (si) does not exist."));
    auto found = TRY(find_policy(account.name, covered.holder, f.si));
    if (!found) return fail(authentication_failed("The stored access policy of the SAS (si) does not exist."));
    const StoredPolicy& policy = *found;
    if (!take_from_policy(terms.start, policy.start) || !take_from_policy(terms.expiry, policy.expiry) ||
        !take_from_policy(terms.permission, policy.permission)) {
      return fail(authentication_failed(
          "A field is given both in the SAS and in its stored access policy. Leave it out of one of them."));
    }
  }
  if (terms.permission.empty()) return fail(authentication_failed("The SAS gives no permissions (sp)."));
  return terms;
}

std::optional<std::string> bound(std::string_view value) {
  if (value.empty()) return std::nullopt;
  return std::string(value);
}

void set_overrides(Identity& identity, const SasFields& f) {
  const std::array<std::pair<const char*, std::string_view>, 5> overrides{{{"Cache-Control", f.rscc},
                                                                           {"Content-Disposition", f.rscd},
                                                                           {"Content-Encoding", f.rsce},
                                                                           {"Content-Language", f.rscl},
                                                                           {"Content-Type", f.rsct}}};
  for (const auto& [name, value] : overrides) {
    if (!value.empty()) identity.response_overrides.emplace_back(name, value);
  }
}

/// Returns the identity that a SAS gives, no matter which key signed it.
Identity sas_identity(Service service, const Account& account, const SasFields& f, Coverage covered,
                      std::string permissions) {
  Identity identity;
  identity.scheme = Scheme::kServiceSas;
  identity.account = account.name;
  identity.permissions = std::move(permissions);
  identity.resource = std::move(covered.name);
  identity.version = f.sv;
  if (service == Service::kTable) {
    identity.start_pk = bound(f.spk);
    identity.start_rk = bound(f.srk);
    identity.end_pk = bound(f.epk);
    identity.end_rk = bound(f.erk);
  }
  if (service == Service::kBlob) set_overrides(identity, f);
  return identity;
}

Result<void> check_key_range(const SasFields& f) {
  if ((!f.spk.empty() || f.srk.empty()) && (!f.epk.empty() || f.erk.empty())) return {};
  return fail(authentication_failed("srk needs spk, and erk needs epk."));
}

/// Refuses fields that a user delegation SAS may have, but that are not supported or not signed in its version.
Result<void> check_delegation_fields(Service service, const SasFields& f) {
  if (f.sv < (service == Service::kBlob ? kResourceKindSince : kDelegatedUserSince)) {
    return fail(
        authentication_failed("User delegation needs a later version (sv): 2018-11-09 for blobs, 2025-07-05 else."));
  }
  const bool for_somebody = !f.skdutid.empty() || !f.sduoid.empty() || !f.suoid.empty();
  if (for_somebody || !f.srh.empty() || !f.srq.empty()) {
    return fail(
        authentication_failed("skdutid, sduoid, suoid, srh and srq are not supported in a user delegation SAS."));
  }
  const bool agents = !f.saoid.empty() || !f.scid.empty();
  if (!f.si.empty() || (agents && (f.sv < kAgentsSince || service != Service::kBlob))) return fail(mismatch());
  if (f.sks != std::string_view(name_of(service)).substr(1, 1)) {
    return fail(authentication_failed("The user delegation key (sks) is for another service."));
  }
  return {};
}

Result<Identity> verify_delegated_sas(Service service, const SignedRequest& request, const Resource& resource,
                                      const Account& account, const SasFields& f, Time now, bool https) {
  TRY(check_delegation_fields(service, f));
  auto covered = TRY(coverage_of(service, resource, f));
  const DelegationKey key{f.skoid, f.sktid, f.skt, f.ske, f.sks, f.skv};
  const auto roles = delegated_roles(account, key, delegated_text(service, account, f, covered), f.sig);
  if (!roles) return fail(mismatch());
  TRY(check_key_dates(f, now));
  TRY(check_conditions(f.st, f.se, f, request.remote_address, https, now));
  TRY(check_key_range(f));
  if (f.sp.empty()) return fail(authentication_failed("The SAS gives no permissions (sp)."));
  auto identity = sas_identity(service, account, f, std::move(covered), std::string(f.sp));
  identity.service = service;
  identity.roles = *roles;
  identity.object_id = f.skoid;
  identity.tenant_id = f.sktid;
  return identity;
}

Result<Identity> verify_service_sas(Service service, const SignedRequest& request, const Resource& resource,
                                    const Account& account, const SasFields& f, Time now, bool https,
                                    const PolicyLookup& find_policy) {
  if (has_unsigned_fields(service, f)) return fail(mismatch());
  auto covered = TRY(coverage_of(service, resource, f));
  const auto text = service_text(service, account, f, covered);
  if (!signature_matches(account, text, f.sig, Repeated::kYes)) return fail(mismatch());
  auto terms = TRY(terms_of(f, account, covered, find_policy));
  TRY(check_conditions(terms.start, terms.expiry, f, request.remote_address, https, now));
  TRY(check_key_range(f));
  return sas_identity(service, account, f, std::move(covered), std::move(terms.permission));
}

Result<Identity> verify_signature(Service service, const SignedRequest& request, const Resource& resource,
                                  const Account& account, const SasFields& f, Time now, bool https,
                                  const PolicyLookup& find_policy) {
  if (!f.ss.empty() && !f.srt.empty()) return verify_account_sas(service, request, account, f, now, https);
  if (!f.skoid.empty()) return verify_delegated_sas(service, request, resource, account, f, now, https);
  return verify_service_sas(service, request, resource, account, f, now, https, find_policy);
}

}  // namespace

Result<SasFields> parse_sas(const QueryParameters& parameters) {
  SasFields fields;
  std::uint64_t seen = 0;
  for (const auto& [name, value] : parameters) {
    for (std::size_t i = 0; i < kFields.size(); ++i) {
      if (!iequals_ascii(name, kFields[i].first)) continue;  // as the operations read their parameters
      if ((seen >> i & 1U) != 0) return fail(authentication_failed("A field of the SAS is given twice."));
      if (has_control(value)) return fail(authentication_failed("A field of the SAS is malformed."));
      seen |= 1ULL << i;
      fields.*kFields[i].second = value;
      break;
    }
  }
  return fields;
}

std::string sign_sas(Service service, const Account& account, const SasFields& fields, std::string_view resource) {
  const Coverage covered{signed_name(service, resource), {}};
  const auto text = fields.ss.empty() ? service_text(service, account, fields, covered) : account_text(account, fields);
  std::string query;
  for (const auto& [name, member] : kFields) {
    const auto value = fields.*member;
    if (!value.empty()) query += std::string(name) + "=" + percent_encode(value) + "&";
  }
  return query + "sig=" + percent_encode(base64_encode(hmac_sha256(account.keys.front(), text)));
}

Result<Identity> verify_sas(Service service, const SignedRequest& request, const Resource& resource,
                            const Account& account, const SasFields& fields, Time now, bool https,
                            const PolicyLookup& find_policy) {
  if (!is_version(fields.sv) || fields.sv < kOldest) {
    return fail(authentication_failed("The version (sv) of the SAS must be a date, 2012-02-12 or later."));
  }
  auto identity = TRY(verify_signature(service, request, resource, account, fields, now, https, find_policy));
  if (service == Service::kBlob && !fields.ses.empty()) {
    return fail(ErrorCode::kNotImplemented, "Encryption scopes are not offered: make a SAS without one (ses).");
  }
  return identity;
}

}  // namespace tidemark::auth
