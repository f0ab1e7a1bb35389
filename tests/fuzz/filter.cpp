// $filter: for any text, the plan is in order, and it never loses an entity that the filter accepts.
#include "table_store/model/filter.h"

#include <limits>

#include "table_store/storage/query_plan.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace tidemark;
using namespace tidemark::table_store;

std::vector<Entity> make_entities() {
  std::vector<Entity> out;
  int n = 0;
  for (const char* pk : {"", "a", "b", "it's", "p", "\xF0\x9F\x98\x80"}) {
    for (const char* rk : {"", "1", "2", "r", "\xEE\x80\x80"}) {
      Entity& entity = out.emplace_back();
      entity.partition_key = pk;
      entity.row_key = rk;
      entity.version = ++n;
      if (n % 2 == 0) entity.properties.push_back({"n", Value(std::int32_t{n % 7})});
      if (n % 3 == 0)
        entity.properties.push_back({"d", Value(n % 4 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.5)});
      if (n % 3 == 1) entity.properties.push_back({"s", Value(std::string(pk) + rk)});
      if (n % 4 == 1) entity.properties.push_back({"b", Value(n % 8 == 1)});
      if (n % 5 == 1) entity.properties.push_back({"l", Value(std::int64_t{1} << 40)});
      if (n % 5 == 2) entity.properties.push_back({"x", Value(Binary{"\x01\x02"})});
      if (n % 5 == 3) entity.properties.push_back({"t", Value(Time(Ticks(n)))});
      if (n % 5 == 4) entity.properties.push_back({"g", Value(Guid{})});
    }
  }
  return out;
}

bool holds_key(const kv::KeyRange& range, const std::string& key) {
  return key >= range.lower && (range.upper.empty() || key < range.upper);
}

void check_entity(const Filter& filter, const QueryPlan& plan, const Entity& entity) {
  const auto block = property_block(entity.properties);
  EntityView view;
  view.partition_key = entity.partition_key;
  view.row_key = entity.row_key;
  view.version = entity.version;
  view.block = block;
  const bool matches = filter.matches(entity);
  fuzz::require(matches == filter.matches(view), "stored bytes match as the entity does");
  const auto key = encode_entity_key(entity.partition_key, entity.row_key);
  bool planned = false;
  for (const auto& range : plan.ranges) planned = planned || holds_key(range.keys, key);
  fuzz::require(planned || !matches, "the plan loses nothing");
  fuzz::require(matches || !planned || plan.filter_rows, "an exact plan lets nothing in");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::vector<Entity> entities = make_entities();
  const auto filter = Filter::parse(fuzz::text_of(bytes, size));
  if (!filter) return 0;
  const auto plan = plan_query(*filter);
  fuzz::require(plan.ranges.size() <= kMaxPlannedRanges, "plans are bounded");
  for (std::size_t i = 1; i < plan.ranges.size(); ++i) {
    const auto& before = plan.ranges[i - 1].keys.upper;
    fuzz::require(!before.empty() && before <= plan.ranges[i].keys.lower, "ranges are in order and disjoint");
  }
  for (const auto& entity : entities) check_entity(*filter, plan, entity);
  return 0;
}
