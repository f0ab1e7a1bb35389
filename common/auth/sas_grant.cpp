#include "common/auth/sas_grant.h"

#include <algorithm>

#include "common/auth/sas.h"

namespace tidemark::auth {
namespace {

constexpr std::string_view kVersion = "2020-12-06";
constexpr std::size_t kMaxResourceBytes = 2048;

std::unexpected<Error> refuse(std::string why) { return fail(ErrorCode::kInvalidInput, std::move(why)); }

bool are_letters_of(std::string_view text, std::string_view allowed) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!allowed.contains(text[i]) || text.find(text[i], i + 1) != text.npos) return false;
  }
  return !text.empty();
}

std::string_view letters_of(Service service, const SasGrant& grant) {
  if (grant.of_account()) return "rwdxylacuptfi";
  if (service == Service::kTable) return "raud";
  if (service == Service::kQueue) return "raup";
  return grant.resource.contains('/') ? "racwdxytmei" : "racwdxyltfmei";
}

Result<void> check_resource(Service service, const SasGrant& grant) {
  if (grant.of_account()) {
    if (!grant.resource.empty()) return refuse("An account SAS names no table, queue or container.");
    if (!are_letters_of(grant.services, "bqt")) return refuse("services must be letters of bqt, none twice.");
    if (!are_letters_of(grant.resource_types, "sco"))
      return refuse("resourceTypes must be letters of sco, none twice.");
    return {};
  }
  const auto slash = grant.resource.find('/');
  const bool good = !grant.resource.empty() && grant.resource.size() <= kMaxResourceBytes && slash != 0 &&
                    slash != grant.resource.size() - 1 && (service == Service::kBlob || slash == std::string::npos) &&
                    std::ranges::none_of(grant.resource, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  return good ? Result<void>() : refuse("name must be that of a table, queue or container, or CONTAINER/BLOB.");
}

Result<void> check_keys(Service service, const SasGrant& grant) {
  const bool any = !grant.start_pk.empty() || !grant.start_rk.empty() || !grant.end_pk.empty() || !grant.end_rk.empty();
  if (any && (service != Service::kTable || grant.of_account())) return refuse("Only the SAS of a table has keys.");
  if ((!grant.start_rk.empty() && grant.start_pk.empty()) || (!grant.end_rk.empty() && grant.end_pk.empty())) {
    return refuse("A row key needs the partition key beside it.");
  }
  return {};
}

std::string seconds_text(Time time) { return to_iso8601(std::chrono::floor<std::chrono::seconds>(time)); }

}  // namespace

Result<void> check_grant(Service service, const SasGrant& grant, Time now, Duration longest) {
  TRY(check_resource(service, grant));
  TRY(check_keys(service, grant));
  const auto letters = letters_of(service, grant);
  if (!are_letters_of(grant.permissions, letters)) {
    return refuse("permissions must be letters of " + std::string(letters) + ", none twice.");
  }
  if (grant.expiry <= now) return refuse("The SAS would have expired already.");
  if (grant.expiry - now > longest) {
    return refuse("The SAS would last longer than the setting sas_longest_h of the store allows: until " +
                  seconds_text(now + longest) + " at most.");
  }
  if (grant.start && *grant.start >= grant.expiry) return refuse("The SAS would expire before it starts.");
  if (!grant.addresses.empty() && !is_address_range(grant.addresses)) {
    return refuse("ip must be an IPv4 address, or two with a - between them.");
  }
  if (!grant.protocol.empty() && grant.protocol != "https" && grant.protocol != "https,http") {
    return refuse("protocol must be https or https,http.");
  }
  return {};
}

std::string sign_grant(Service service, const Account& account, const SasGrant& grant) {
  const auto start = grant.start ? seconds_text(*grant.start) : std::string();
  const auto expiry = seconds_text(grant.expiry);
  SasFields fields;
  fields.sv = kVersion;
  fields.ss = grant.services;
  fields.srt = grant.resource_types;
  fields.sp = grant.permissions;
  fields.st = start;
  fields.se = expiry;
  fields.sip = grant.addresses;
  fields.spr = grant.protocol;
  if (!grant.of_account() && service == Service::kTable) {
    fields.tn = grant.resource;
    fields.spk = grant.start_pk;
    fields.srk = grant.start_rk;
    fields.epk = grant.end_pk;
    fields.erk = grant.end_rk;
  }
  if (!grant.of_account() && service == Service::kBlob) fields.sr = grant.resource.contains('/') ? "b" : "c";
  return sign_sas(service, account, fields, grant.resource);
}

}  // namespace tidemark::auth
