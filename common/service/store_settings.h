// The settings that every store has.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/analytics/analytics.h"
#include "common/auth/authenticator.h"
#include "common/http/certificate.h"
#include "common/process/config.h"
#include "common/process/process.h"
#include "common/service/other_hosts.h"
#include "common/service/quotas.h"
#include "common/service/request_limits.h"
#include "common/service/store_check.h"
#include "common/service/token_keys.h"
#include "common/service/usage_meter.h"
#include "common/tracing/tracer.h"

namespace tidemark::service {

struct StoreSettings {
  std::string host = "127.0.0.1";
  std::int64_t port = 0;
  std::string data = "data";
  std::string accounts;
  std::string accounts_file;
  std::string token;
  std::string allowed_hosts;
  std::string durability = "fsync";
  std::string engine = "rocksdb";
  std::string database;
  std::int64_t database_snapshots = 24;
  std::int64_t shards = 0;
  bool share_shards = false;
  std::string peer_address;
  std::int64_t threads = 2;
  std::int64_t max_connections = 4096;
  std::int64_t max_connections_of_address = 2048;
  std::int64_t max_body_memory_mib = 512;
  std::int64_t slowest_bytes_per_s = 4096;
  std::int64_t max_internal_calls = 4096;
  std::int64_t idle_timeout_s = 120;
  std::int64_t shutdown_grace_s = 10;
  std::int64_t block_cache_mib = 256;
  std::int64_t min_free_mib = 128;
  std::int64_t operation_retention_h = 720;
  std::int64_t sas_longest_h = 168;
  AddressRates of_address;
  AccountRates of_account;
  QuotaSettings quotas;
  bool service_targets = false;
  bool check_clock_skew = true;
  bool allow_development_key = false;
  bool trust_forwarded_proto = false;
  http::CertificateFiles tls;
  TokenSettings tokens;
  ListenSettings listen;
  UsageSettings usage;
  tracing::TracingSettings tracing;
  analytics::AnalyticsSettings analytics;
  ScrubSettings scrub;
  bool fsck = false;
  process::LogOptions log;
};
/// `unit`: the store's unit, such as "table".
void declare(process::Settings& settings, StoreSettings& values, const std::string& unit);

/// Reads `accounts` or `accounts_file`. kConfigInvalid, also if the development key would be within reach of strangers.
Result<std::vector<auth::Account>> load_accounts(const StoreSettings& settings);

}  // namespace tidemark::service
