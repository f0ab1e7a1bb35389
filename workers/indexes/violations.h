// Tells the endpoint of an index of the violations of its uniqueness. Used from one strand.
#pragma once
#include <string>

#include "indexes/store/index_store.h"
#include "jobs/store/job_store.h"

namespace tidemark::workers {

class ViolationsTeller {
 public:
  ViolationsTeller(indexes::IndexStore& store, jobs::JobStore& jobs, Clock& clock)
      : store_(store), jobs_(jobs), clock_(clock) {}

  /// There are violations that nobody was told of.
  void note() { to_tell_ = true; }
  /// Submits a job for each of some violations, if there are any to tell of. A failure is logged, and it is tried again
  /// later: the index follows all the same.
  Task<void> tell(const indexes::Index& index);

 private:
  Task<Result<void>> tell_some(const indexes::Index& index, jobs::CallbackEndpoint endpoint);

  indexes::IndexStore& store_;
  jobs::JobStore& jobs_;
  Clock& clock_;
  bool to_tell_ = true;  // an earlier owner may have left some
  Duration tell_at_{};
};

}  // namespace tidemark::workers
