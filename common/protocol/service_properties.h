// Service properties: logging, metrics, CORS rules, and what only blobs have. One model for the three stores: a PUT is
// read and checked, laid over what was set before, and kept as the document that a GET answers. No I/O, no state.
// Errors: kInvalidXmlDocument for a broken document and for every limit (as recorded from the service),
// kInvalidXmlNodeValue and kMissingRequiredXmlNode with the element's name. Limits: the services' REST documentation,
// "Set Table Service Properties" and "Cross-Origin Resource Sharing".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::protocol {

enum class StoreKind { kBlob, kQueue, kTable };

/// No body of this size is a legitimate one: five rules of 2 KiB are the bulk of it.
inline constexpr std::size_t kMaxServicePropertiesBytes = 64UL << 10;

struct RetentionPolicy {
  bool enabled = false;
  std::uint32_t days = 0;  // 1 to 365 if enabled
  bool operator==(const RetentionPolicy&) const = default;
};

struct Logging {
  std::string version = "1.0";
  bool read = false, write = false, remove = false;
  RetentionPolicy retention;
  bool operator==(const Logging&) const = default;
};

struct Metrics {
  std::string version = "1.0";
  bool enabled = false;
  bool include_apis = false;  // told only if enabled
  RetentionPolicy retention;
  bool operator==(const Metrics&) const = default;
};

struct CorsRule {
  std::vector<std::string> origins, methods, allowed_headers, exposed_headers;  // "*" or "prefix*" allowed in headers
  std::uint32_t max_age_s = 0;
  bool operator==(const CorsRule&) const = default;
};

/// Kept and answered for the clients' sake; no pages are served.
struct StaticWebsite {
  bool enabled = false;
  std::string index_document, error_document, default_index_document;
  bool operator==(const StaticWebsite&) const = default;
};

/// An absent section is one that a PUT left out, or that was never set.
struct ServiceProperties {
  std::optional<Logging> logging;
  std::optional<Metrics> hour_metrics, minute_metrics;
  std::optional<std::vector<CorsRule>> cors;
  // Blobs only.
  std::optional<std::string> default_service_version;
  std::optional<RetentionPolicy> delete_retention;
  std::optional<StaticWebsite> static_website;
  bool operator==(const ServiceProperties&) const = default;
};

Result<ServiceProperties> parse_service_properties(StoreKind store, std::string_view xml);
/// Every section, in the order of the service; what is absent gets the values of a fresh account.
std::string render_service_properties(StoreKind store, const ServiceProperties& properties);

/// What a GET answers: the document stored, or a fresh account's if that is empty.
std::string service_properties_document(StoreKind store, std::string_view stored);
/// The document to store after a PUT of `body`. kCorruption if `stored` is not one.
Result<std::string> merge_service_properties(StoreKind store, std::string_view stored, std::string_view body);

/// The answer of ?comp=stats, which only a secondary endpoint gives. There is no replication: it is always in step.
std::string service_stats_document(Time now);
/// The refusal of ?comp=stats on a primary endpoint.
Error stats_need_secondary();

}  // namespace tidemark::protocol
