// Containers as rows of the catalogue (common/shards/catalogue_copies.h), for a store of several shards. A copy says
// which generation the container has. A deleted container leaves a dead generation on each shard, in the transaction
// that erases the copy there. Versions are ids of the first shard, as generations are.
#pragma once
#include <functional>

#include "blob_store/model/blob.h"
#include "common/shards/catalogue_copies.h"

namespace tidemark::blob_store {

class ContainerRows final : public shards::CatalogueCopies::Rows {
 public:
  /// `erased`: called when containers of a shard were erased because the process that serves the catalogue asked for
  /// it.
  explicit ContainerRows(std::function<void(std::size_t shard)> erased = [](std::size_t) {})
      : erased_(std::move(erased)) {}

  [[nodiscard]] Result<std::optional<shards::CatalogueCopies::Copy>> read(const kv::Reader& catalogue,
                                                                          std::string_view account,
                                                                          std::string_view name) const override;
  Result<void> change_shard(kv::Transaction& txn, std::size_t shard, const std::string& account,
                            const std::string& name, const shards::CatalogueCopies::Change& change) const override;
  Result<void> change_row(kv::Transaction& txn, const std::string& account, const std::string& name,
                          const shards::CatalogueCopies::Change& change) const override;
  void changed_on_request(std::size_t shard, const Executor&) const override { erased_(shard); }

 private:
  const std::function<void(std::size_t)> erased_;
};

/// `version`: an id that is higher than the container's generation.
shards::CatalogueCopies::Change dropped(const Container& container, std::uint64_t version);

}  // namespace tidemark::blob_store
