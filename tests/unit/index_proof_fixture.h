// Lookups of an index that follows its table, with the owner's acknowledgements.
#pragma once
#include "tests/unit/index_lookup_fixture.h"

namespace tidemark::indexes {

struct IndexProof : IndexLookup {
  void begin() {
    ASSERT_TRUE(run_task(
        tables.follow("Source", {index.id, index.definition.key_properties()}, true, std::nullopt, std::nullopt)));
  }
  /// Acknowledges like the owner, once it has handled everything.
  void acknowledge() {
    Result<table_store::ChangesPage> page;
    do {
      page = run_task(tables.changed_entities("Source", index.id, {}, {}, 1000, Duration(), {}));
      ASSERT_TRUE(page);
      ASSERT_TRUE(run_task(tables.acknowledge("Source", index.id, page->through)));
    } while (page->more);
  }
  void become(std::string_view state) {
    Progress progress;
    progress.state = state;
    ASSERT_TRUE(run_task(store.write_progress(index.id, progress, {"index/" + index.id, ++epoch, "", 0})));
  }
  void erase(const std::string& row) {
    const auto mutation = table_store::change(table_store::MutationKind::kErase, row);
    ASSERT_TRUE(run_task(tables.mutate("Source", "p", {mutation}, std::nullopt)));
  }
  void note_calls() {
    loopback.before = [this](const std::string& method, Duration) { calls.push_back(method); };
  }

  Index index;
  std::vector<std::string> calls;
  std::uint64_t epoch = 0;
};

}  // namespace tidemark::indexes
