// Archive: moves entities to another table, one or all that match a filter. Per group of one partition:
//   1. put-if-newer into the destination, carrying the version that was read
//   2. erase from the source the version that was copied
// Both fenced by (job, epoch). An entity that changed in between is read and copied again, so nothing is removed whose
// newest version is not in the destination. The keys of a page are noted durably in the message before its first copy:
// a delivery that takes over completes those moves even if an entity has since changed to match the filter no more.
//   checkpoint {"continuation":C,"pending":[[pk,rk],...],"skipped":N}
// Fails with kTableNotFound (source), kFenced, kLeaseLost, kCancelled, kUpdateConditionNotSatisfied (entities that
// others kept changing) and whatever the clients report.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

inline constexpr std::uint32_t kArchivePageEntities = 500;
inline constexpr std::size_t kArchivePendingBytes = 40'000;
inline constexpr std::size_t kGroupEntities = 100;
inline constexpr std::size_t kGroupBytes = 3UL << 20;

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec);

/// An estimate of an entity's size on the wire.
std::size_t entity_bytes(const table_store::Entity& entity);
/// [begin, end) of consecutive entities of one partition that fit into one transaction each.
std::vector<std::pair<std::size_t, std::size_t>> archive_groups(const std::vector<table_store::Entity>& entities);

}  // namespace tidemark::workers
