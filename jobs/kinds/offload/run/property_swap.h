// Which properties of an entity go out to blobs or come back, and the links for them (jobs/kinds/offload/blob_link.h):
// the decisions of offload and inline, whose walk is the same. Pure.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jobs/kinds/offload/blob_link.h"
#include "jobs/spec/job_spec.h"

namespace tidemark::workers {

/// What is to be done with one entity.
struct PropertyChange {
  std::vector<std::size_t> places;    // of the properties
  std::vector<jobs::BlobLink> links;  // of the same properties; on the way out without the ETag yet
};

class PropertySwap {
 public:
  virtual ~PropertySwap() = default;
  [[nodiscard]] virtual PropertyChange change_of(const table_store::Entity& entity) const = 0;
  [[nodiscard]] virtual bool outward() const = 0;
};

/// Names of blobs hold the job's id: nobody else writes them.
std::unique_ptr<const PropertySwap> swap_outward(jobs::OffloadSpec spec, std::string job_id);
std::unique_ptr<const PropertySwap> swap_inward(jobs::InlineSpec spec);

}  // namespace tidemark::workers
