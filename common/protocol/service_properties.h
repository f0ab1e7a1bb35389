// Service properties of the three stores: logging, metrics, CORS rules, and the sections that only blobs have. The body
// of a PUT is checked and merged with the earlier settings; the result is stored as the document that a GET returns.
// Pure. Errors: kInvalidXmlDocument for a broken document and for every limit (as recorded from the service),
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

/// Larger bodies are refused. Most of a legitimate one is five rules of 2 KiB.
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
  bool include_apis = false;  // shown only if enabled
  RetentionPolicy retention;
  bool operator==(const Metrics&) const = default;
};

struct CorsRule {
  std::vector<std::string> origins, methods, allowed_headers, exposed_headers;  // "*" or "prefix*" allowed in headers
  std::uint32_t max_age_s = 0;
  bool operator==(const CorsRule&) const = default;
};

/// Stored and returned because clients use it; no pages are served.
struct StaticWebsite {
  bool enabled = false;
  std::string index_document, error_document, default_index_document;
  bool operator==(const StaticWebsite&) const = default;
};

/// A section is absent if a PUT left it out or it was never set.
struct ServiceProperties {
  std::optional<Logging> logging;
  std::optional<Metrics> hour_metrics, minute_metrics;
  std::optional<std::vector<CorsRule>> cors;
  // These are for blobs only.
  std::optional<std::string> default_service_version;
  std::optional<RetentionPolicy> delete_retention;
  std::optional<StaticWebsite> static_website;
  bool operator==(const ServiceProperties&) const = default;
};

Result<ServiceProperties> parse_service_properties(StoreKind store, std::string_view xml);
/// Renders all sections, in the order of the service. Absent ones get the values of a new account.
std::string render_service_properties(StoreKind store, const ServiceProperties& properties);

/// Returns the document for a GET: the stored one, or that of a new account if `stored` is empty.
std::string service_properties_document(StoreKind store, std::string_view stored);
/// Returns the document to store after a PUT of `body`. kCorruption if `stored` is not a valid document.
Result<std::string> merge_service_properties(StoreKind store, std::string_view stored, std::string_view body);

/// Returns the answer to ?comp=stats, which only a secondary endpoint gives. Without replication, it is always up to
/// date.
std::string service_stats_document(Time now);
/// The error for ?comp=stats on a primary endpoint.
Error stats_need_secondary();

}  // namespace tidemark::protocol
