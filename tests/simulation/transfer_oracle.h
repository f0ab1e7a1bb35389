// Knows the accounts between which transactions move money, from the commits of the table store, and checks:
//   T1  a transaction that succeeded has done all of its steps, once, and any other has done none
//   T2  the sum of all accounts never changes once all is quiet, and no balance falls below zero
//   T3  no step takes effect before the transaction is decided, nor of one that was withdrawn
// One thread.
#pragma once
#include <map>
#include <set>
#include <string>

#include "jobs/store/job_record.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {

inline constexpr const char* kBankTable = "Bank";
inline constexpr const char* kAuditTable = "Audit";
inline constexpr const char* kMailQueue = "mail";

class TransferOracle {
 public:
  explicit TransferOracle(Scheduler& scheduler) : scheduler_(scheduler) {}

  void committed(const Committed& committed);
  /// `mails`: the number of messages in kMailQueue.
  void check_quiet(const std::map<std::string, jobs::JobRecord>& jobs, std::size_t mails);
  /// The transactions that succeeded.
  [[nodiscard]] std::uint64_t succeeded() const { return succeeded_; }

 private:
  void entity_changed(const RowChange& change, bool by_people);
  void violated(std::string text);

  Scheduler& scheduler_;
  std::map<std::uint64_t, std::string> tables_;  // by generation
  std::map<std::string, std::int64_t> balances_;
  std::int64_t begun_with_ = 0;
  std::map<std::string, int> audit_;  // by job
  std::set<std::string> decided_, withdrawn_;
  std::uint64_t succeeded_ = 0;
};

}  // namespace tidemark::simulation
