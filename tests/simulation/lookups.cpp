#include "tests/simulation/lookups.h"

#include <algorithm>

#include "tests/simulation/index_oracle.h"
#include "tests/support/seeded_random.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using Parameters = std::vector<std::pair<std::string, std::string>>;

constexpr std::int32_t kGroups = kGroupNames.size();
constexpr std::string_view kLookedUp[] = {kListsIndex, kCopiesIndex, kWithinIndex};

std::string seconds_text(Duration duration) { return std::to_string(std::chrono::duration<double>(duration).count()); }

}  // namespace

Lookups::Lookups(Network& network, Life& life, Stores stores, const Plan& plan, PeopleNotes& notes,
                 LookupOracle& oracle, std::uint64_t seed)
    : life_(life),
      plan_(plan),
      notes_(notes),
      oracle_(oracle),
      dice_(seed),
      table_link_(network, life, stores.tables, false),
      tables_(table_link_, kAccount),
      listings_(table_link_, kAccount),
      random_(make_seeded_random(seed)),
      store_(tables_, life.clock(), *random_),
      lookup_(tables_, listings_, nullptr, store_, life.clock()) {}

void Lookups::start() {
  const bool any = std::ranges::any_of(
      plan_.indexes, [](const auto& index) { return std::ranges::find(kLookedUp, index.name) != std::end(kLookedUp); });
  if (!any) return;
  auto at_random = look_up_at_random(*this);
  spawn(life_.executor(), std::move(at_random));
  if (plan_.queries) {
    auto queries = query_at_random(*this);
    spawn(life_.executor(), std::move(queries));
  }
  auto in_the_end = look_up_in_the_end(*this);
  spawn(life_.executor(), std::move(in_the_end));
}

/// Returns the names of the indexes that exist as far as the people know, and that can be asked.
std::vector<std::string> Lookups::names() const {
  std::vector<std::string> out;
  for (const auto name : kLookedUp) {
    if (notes_.indexes.contains(std::string(name))) out.emplace_back(name);
  }
  return out;
}

std::string Lookups::partition_for(const std::string& index) {
  return index == kWithinIndex ? plan_.keys[dice_.below(plan_.keys.size())].first : std::string();
}

Task<void> Lookups::look_up_at_random(Lookups& self) {
  ++self.notes_.busy;
  auto& dice = self.dice_;
  const bool one_time = self.plan_.skew == Duration::zero() && self.plan_.gaps.jump == Duration::zero();
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await sleep_for(self.life_.clock(), dice.between(1ms, 150ms));
    const auto names = self.names();
    if (names.empty()) continue;
    Question question;
    question.index = names[dice.below(names.size())];
    question.group = static_cast<std::int32_t>(dice.below(kGroups));
    question.partition = self.partition_for(question.index);
    question.keys_only = dice.chance(5000);
    std::optional<Duration> max_lag;
    if (dice.chance(4000)) {
      question.known = self.notes_.last_version;
    } else if (one_time && dice.chance(5000)) {
      max_lag = dice.between(0ms, 500ms);
      question.known = (self.oracle_.now() - *max_lag).time_since_epoch().count();
    }
    std::ignore = co_await look_up(self, std::move(question), max_lag, false);
  }
  --self.notes_.busy;
}

Task<void> Lookups::look_up_in_the_end(Lookups& self) {
  ++self.notes_.left_for_the_end;
  while (!self.notes_.all_quiet && !self.life_.dead()) co_await sleep_for(self.life_.clock(), 500ms);
  for (const auto& name : self.names()) {
    for (std::int32_t group = 0; group < kGroups; ++group) {
      for (const bool keys_only : {false, true}) {
        bool done = false;
        const Question question{name, group, self.partition_for(name), keys_only, {}, self.notes_.last_version};
        while (!done && !self.life_.dead()) done = co_await look_up(self, question, std::nullopt, true);
        done = !self.plan_.queries || name == kCopiesIndex;
        while (!done && !self.life_.dead()) done = co_await query(self, question, true);
      }
    }
  }
  --self.notes_.left_for_the_end;
}

/// Sends queries to the table store, which goes by the lists of an index if it exists and is ready. The answer has to
/// show everything that was done before the query.
Task<void> Lookups::query_at_random(Lookups& self) {
  ++self.notes_.busy;
  Dice dice(self.dice_.next());
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await sleep_for(self.life_.clock(), dice.between(1ms, 100ms));
    const std::string index = dice.chance(5000) ? kListsIndex : kWithinIndex;
    const auto group = static_cast<std::int32_t>(dice.below(kGroups));
    std::ignore = co_await query(self, {index, group, self.partition_for(index), false, {}, 0}, false);
  }
  --self.notes_.busy;
}

Task<bool> Lookups::query(Lookups& self, Question question, bool in_quiet) {
  question.asked = self.oracle_.now();
  question.known = std::numeric_limits<table_store::Version>::max();
  table_store::QueryRequest request;
  request.table = "Source";
  request.filter = "Group eq " + std::to_string(question.group);
  if (!question.partition.empty()) {
    request.filter = "PartitionKey eq '" + question.partition + "' and Name eq '" +
                     kGroupNames[static_cast<std::size_t>(question.group)] + "'";
  }
  request.by_lists = true;
  request.top = static_cast<std::uint32_t>(1 + self.dice_.below(20));
  std::vector<LookupOracle::Hit> hits;
  do {
    auto page = co_await self.tables_.query(request);
    if (!page) co_return false;
    for (const auto& entity : page->entities) hits.push_back({{entity.partition_key, entity.row_key}, entity.version});
    if (!page->index.empty()) ++self.notes_.queries_by_lists;
    request.continuation = page->continuation;
  } while (!request.continuation.empty());
  in_quiet ? self.oracle_.answered_in_quiet(question, hits) : self.oracle_.answered(question, hits);
  co_return true;
}

Task<bool> Lookups::look_up(Lookups& self, Question question, std::optional<Duration> max_lag, bool in_quiet) {
  Parameters parameters{{question.index == kListsIndex ? "value" : "Group", std::to_string(question.group)}};
  if (!question.partition.empty()) {
    parameters = {{"partition", question.partition}, {"value", kGroupNames[static_cast<std::size_t>(question.group)]}};
  }
  parameters.emplace_back("select", question.keys_only ? "keys" : "entities");
  parameters.emplace_back("top", std::to_string(1 + self.dice_.below(self.dice_.chance(5000) ? 3 : 100)));
  parameters.emplace_back("wait", std::to_string(self.dice_.below(2000)));
  if (!self.notes_.breaks_freshness && max_lag) parameters.emplace_back("maxLag", seconds_text(*max_lag));
  if (!self.notes_.breaks_freshness && !max_lag && question.known > 0) {
    parameters.emplace_back("minVersion", to_iso8601(Time(Ticks(question.known))));
  }
  question.asked = self.oracle_.now();
  const auto declared = self.notes_.declared[question.index];
  std::vector<LookupOracle::Hit> hits;
  std::string continuation;
  do {
    auto status = co_await self.lookup_.status(question.index);
    if (!status) co_return false;
    auto asked = parameters;
    if (!continuation.empty()) asked.emplace_back("continuation", continuation);
    auto request = indexes::read_lookup(status->index.definition, asked);
    if (!request) std::abort();
    auto answer = co_await self.lookup_.find(std::move(*status), std::move(*request), [] { return false; });
    if (!answer) co_return false;
    for (const auto& entity : answer->found.entities) {
      hits.push_back({{entity.partition_key, entity.row_key}, question.keys_only ? 0 : entity.version});
    }
    continuation = answer->found.continuation;
  } while (!continuation.empty());
  // An index that is being dropped need not be complete.
  if (self.notes_.declared[question.index] != declared || !self.notes_.indexes.contains(question.index)) {
    question.known = 0;
  }
  in_quiet ? self.oracle_.answered_in_quiet(question, hits) : self.oracle_.answered(question, hits);
  co_return true;
}

}  // namespace tidemark::simulation
