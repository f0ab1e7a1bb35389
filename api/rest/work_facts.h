// The facts by which the api gives out work: the declared kinds, which of them are paused, and which workers are quiet.
// They are read at most once a second; if the store does not answer, the last known ones hold. Used on one strand.
#pragma once
#include <memory>
#include <set>
#include <string>

#include "jobs/limits/limits.h"
#include "jobs/store/worker_list.h"
#include "jobs/work/own_kind_store.h"

namespace tidemark::api {

struct WorkFacts {
  jobs::OwnKinds kinds;
  std::set<std::string> paused;  // kinds
  std::set<std::string> quiet;   // workers
};

class WorkFactReader {
 public:
  WorkFactReader(table_store::TableClient& tables, Clock& clock)
      : kinds_(tables), limits_(tables, clock), workers_(tables), clock_(clock) {}
  /// `fresh`: reads them now, for somebody who has just declared a kind.
  Task<Result<std::shared_ptr<const WorkFacts>>> read(bool fresh = false);

 private:
  Task<Result<WorkFacts>> look();
  jobs::OwnKindStore kinds_;
  jobs::Limits limits_;
  jobs::WorkerList workers_;
  Clock& clock_;
  std::shared_ptr<const WorkFacts> known_;
  Duration read_at_{};
};

}  // namespace tidemark::api
