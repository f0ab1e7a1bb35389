// People who look entities up by the indexes, as the api does, during the work and the faults, and once more when all
// is quiet. An oracle judges each answer.
#pragma once
#include "indexes/lookup/lookup.h"
#include "tests/simulation/client_hosts.h"
#include "tests/simulation/lookup_oracle.h"

namespace tidemark::simulation {

class Lookups {
 public:
  Lookups(Network& network, Life& life, Stores stores, const Plan& plan, PeopleNotes& notes, LookupOracle& oracle,
          std::uint64_t seed);
  /// To be called once the source is filled.
  void start();

 private:
  using Question = LookupOracle::Question;
  static Task<void> look_up_at_random(Lookups& self);
  static Task<void> look_up_in_the_end(Lookups& self);
  static Task<void> query_at_random(Lookups& self);
  /// False if there was no complete answer by one index.
  static Task<bool> look_up(Lookups& self, Question question, std::optional<Duration> max_lag, bool in_quiet);
  static Task<bool> query(Lookups& self, Question question, bool in_quiet);
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns one of the partitions if the index has its lists in partitions; otherwise empty.
  [[nodiscard]] std::string partition_for(const std::string& index);

  Life& life_;
  const Plan& plan_;
  PeopleNotes& notes_;
  LookupOracle& oracle_;
  Dice dice_;
  SpreadTransport table_link_;
  table_store::TableClient tables_;
  table_store::ListingClient listings_;
  std::unique_ptr<Random> random_;
  indexes::IndexStore store_;
  indexes::Lookup lookup_;
};

}  // namespace tidemark::simulation
