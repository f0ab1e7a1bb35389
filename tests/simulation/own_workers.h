// A worker of users' own: it does the jobs that a rule makes of each entry in the audit table. It takes their messages,
// claims, gives signs of life and ends with the code of the api (jobs/work). It dawdles beyond its lease, fails, gives
// jobs back, ends the same job twice, and goes on with jobs that it has lost.
#pragma once
#include "jobs/work/work.h"
#include "tests/simulation/client_hosts.h"

namespace tidemark::simulation {

inline constexpr const char* kShipKind = "ship";
inline constexpr const char* kShipTable = "Ships";    // the steps of ends write here: <Part>/<RowKey of the entry>
inline constexpr const char* kWriteTable = "Writes";  // and the workers themselves here
inline constexpr std::array<const char*, 2> kShipParts{"first", "second"};
/// The rule, whose jobs have the entry's RowKey as their input.
inline constexpr const char* kShipRule =
    R"({"after":"oldest","job":{"kind":"ship","version":1,"input":{"of":"{new.RowKey}"},"maxAttempts":100}})";

jobs::OwnKinds ship_kinds();
/// Returns the queue in which the jobs wait.
std::string ship_queue();

class OwnWorkerHost final : public Program {
 public:
  OwnWorkerHost(Network& network, Life& life, Stores stores, const Plan& plan, std::uint64_t seed);
  void start();

 private:
  static Task<void> run(OwnWorkerHost& self);
  static Task<void> do_job(OwnWorkerHost& self, jobs::ClaimedJob job);
  /// Gives some signs of life, and returns whether the worker goes on: it does not always heed that it has lost the
  /// job.
  Task<bool> keep(jobs::JobBeat beat);
  jobs::WorkEnd end_of(const jobs::ClaimedJob& job);
  Task<Result<void>> write(const jobs::WorkEnd& end, const std::string& row);

  Life& life_;
  Duration lease_;
  std::string name_;
  Dice dice_;
  SpreadTransport table_link_, queue_link_;
  table_store::TableClient tables_;
  queue_service::QueueClient queues_;
  std::unique_ptr<Random> random_;
  jobs::JobStore jobs_;
  jobs::Work work_;
};

}  // namespace tidemark::simulation
