// The programs that may share a configuration file, and the names of all their settings. A program skips what the file
// has for the others, but a name that no program has is an error. A process test compares this list with the programs.
#pragma once
#include <string_view>

namespace tidemark::process {

inline constexpr std::string_view kPrograms[] = {"api", "blob_store", "queue_service", "table_store", "worker"};

inline constexpr std::string_view kKnownSettings[] = {
    "account",
    "accounts",
    "allow_development_key",
    "allowed_hosts",
    "allowed_origins",
    "archive_directories",
    "archive_grace_s",
    "archive_quarantine_s",
    "block_cache_mib",
    "callback_ca_file",
    "callback_hosts",
    "callback_http_hosts",
    "callback_private_hosts",
    "callback_secrets",
    "check_clock_skew",
    "collect_every_s",
    "concurrency",
    "data",
    "drain_s",
    "durability",
    "host",
    "idle_timeout_s",
    "lease_s",
    "log_format",
    "log_level",
    "max_body_memory_mib",
    "max_bytes_per_s_of_account",
    "max_bytes_per_s_of_address",
    "max_connections",
    "max_connections_of_address",
    "max_event_streams",
    "max_internal_calls",
    "max_requests_per_s_of_account",
    "max_requests_per_s_of_address",
    "max_waiters",
    "metrics",
    "metrics_host",
    "metrics_max_queues",
    "metrics_port",
    "min_free_mib",
    "name",
    "open",
    "operation_retention_h",
    "poll_s",
    "port",
    "retention_h",
    "retry_base_ms",
    "retry_cap_ms",
    "service_targets",
    "shutdown_grace_s",
    "slowest_bytes_per_s",
    "startup_timeout_s",
    "threads",
    "token",
    "trust_forwarded_proto",
    "upkeep_interval_s",
};

}  // namespace tidemark::process
