#include "table_store/rest/fencing.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/protocol/protocol_errors.h"
#include "table_store/model/user_operations.h"
#include "table_store/odata/etag.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kPrefix = "x-ms-tidemark-";
constexpr std::size_t kMaxOperationId = 256;

/// These answers show no fields, so the message names the header.
Error naming(Error error, std::string_view header) {
  error.message += " Header: " + std::string(header) + ".";
  return error;
}

Error invalid_header(std::string_view name, std::string_view value) {
  return naming(protocol::invalid_header(name, value), name);
}

Error missing_header(std::string_view name) { return naming(protocol::missing_header(name), name); }

/// Parses a number, or the ETag of the source entity.
Result<Version> parse_source_version(std::string_view text) {
  if (const auto number = parse_number<Version>(text, 0, std::numeric_limits<Version>::max())) return *number;
  const auto tag = parse_if_match(text);
  if (!tag || !*tag || **tag == kNoSuchVersion) return fail(invalid_header(kSourceVersionHeader, text));
  return **tag;
}

bool is_operation_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxOperationId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

bool is_cause(std::string_view text) {
  return text.size() <= kMaxCauseBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

struct Given {
  std::optional<std::string_view> operation_id, epoch, source_version, cause;
};

/// An unknown header of ours is a misspelt safeguard: refusing it is better than silently ignoring it.
Result<Given> collect(const HeaderList& headers) {
  Given given;
  for (const auto& [name, value] : headers) {
    if (name.size() <= kPrefix.size() || !iequals_ascii(name.substr(0, kPrefix.size()), kPrefix)) continue;
    auto* slot = iequals_ascii(name, kOperationIdHeader)     ? &given.operation_id
                 : iequals_ascii(name, kEpochHeader)         ? &given.epoch
                 : iequals_ascii(name, kSourceVersionHeader) ? &given.source_version
                 : iequals_ascii(name, kCauseHeader)         ? &given.cause
                                                             : nullptr;
    if (slot == nullptr || slot->has_value()) return fail(invalid_header(name, value));
    *slot = value;
  }
  return given;
}

http::Response ledger_response(std::string_view id, const OperationLedger& ledger) {
  http::Response response;
  response.set("Content-Type", json_content_type(MetadataLevel::kNone));
  auto& out = response.body;
  out += "{\"operationId\":";
  append_json_string(out, id);
  out += ",\"epoch\":\"" + std::to_string(ledger.epoch) + "\",\"closed\":";
  out += ledger.closed ? "true" : "false";
  out += ",\"applied\":\"" + std::to_string(ledger.counter(kAppliedCounter)) + "\"}";
  return response;
}

}  // namespace

Result<Fencing> read_fencing(const HeaderList& headers) {
  Fencing out;
  auto given = TRY(collect(headers));
  if (given.source_version) {
    out.source_version = TRY(parse_source_version(*given.source_version));
  }
  if (!given.operation_id && !given.epoch && !given.cause) return out;
  if (!given.operation_id) return fail(missing_header(kOperationIdHeader));
  if (!given.epoch) return fail(missing_header(kEpochHeader));
  const auto epoch = parse_number<std::uint64_t>(*given.epoch);
  if (!epoch) return fail(invalid_header(kEpochHeader, *given.epoch));
  if (!is_operation_id(*given.operation_id)) return fail(invalid_header(kOperationIdHeader, *given.operation_id));
  out.fence =
      Fence{std::string(kUserOperation) + std::string(*given.operation_id), *epoch, std::string(kAppliedCounter)};
  if (given.cause) {
    if (!is_cause(*given.cause)) return fail(invalid_header(kCauseHeader, *given.cause));
    out.fence->cause = *given.cause;
  }
  return out;
}

Result<void> apply_source_version(const Fencing& fencing, Mutation& mutation) {
  if (!fencing.source_version) return {};
  if (mutation.kind != MutationKind::kInsertOrReplace && mutation.kind != MutationKind::kErase) {
    auto error = invalid_header(kSourceVersionHeader, std::to_string(*fencing.source_version));
    error.message += " It goes with Insert Or Replace (PUT without If-Match) and with Delete.";
    return fail(std::move(error));
  }
  mutation.source_version = fencing.source_version;
  return {};
}

std::string_view outcome_name(WriteOutcome kind) {
  constexpr std::string_view kNames[] = {"applied", "superseded", "unchanged", "missing", "conflict"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(WriteOutcome::kLast));
  return kNames[static_cast<std::size_t>(kind) - 1];
}

std::vector<std::pair<std::string_view, std::string>> outcome_headers(const MutationOutcome& outcome) {
  std::vector<std::pair<std::string_view, std::string>> out;
  out.emplace_back(kOutcomeHeader, outcome_name(outcome.kind));
  if (outcome.version != 0) out.emplace_back(kVersionHeader, std::to_string(outcome.version));
  if (outcome.source_version) out.emplace_back(kSourceVersionHeader, std::to_string(*outcome.source_version));
  return out;
}

Answer serve_operation(Call& call) {
  const bool reads = call.method == "GET";
  auto headers = call.http.headers;
  // Reading needs no epoch.
  if (reads && !call.http.header(kEpochHeader)) headers.emplace_back(kEpochHeader, "0");
  auto fencing = CO_TRY(read_fencing(headers));
  if (!fencing.fence) co_return fail(missing_header(kOperationIdHeader));
  const auto& fence = *fencing.fence;
  const auto& id = fence.operation_id;
  auto ledger = CO_TRY(co_await (reads ? call.service.call(calls::ReadOperation{call.account(), id})
                                 : call.method == "DELETE"
                                     ? call.service.call(calls::CloseOperation{call.account(), id, fence.epoch})
                                     : call.service.call(calls::OpenOperation{call.account(), id, fence.epoch})));
  co_return ledger_response(std::string_view(id).substr(kUserOperation.size()), ledger);
}

}  // namespace tidemark::table_store
