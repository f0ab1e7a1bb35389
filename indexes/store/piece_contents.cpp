#include "indexes/store/piece_contents.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/side_by_side.h"
#include "indexes/rows/list_piece.h"
#include "jobs/store/rows.h"

namespace tidemark::indexes {
namespace {

using table_store::Entity;

constexpr int kReadRaces = 10;
constexpr std::size_t kBlobsAtOnce = 32;

const std::string* keys_of(const Entity& row) { return jobs::property<std::string>(row, kBlobListForm.keys); }

void add(Entity& row, std::string keys) {
  row.properties.push_back({std::string(kBlobListForm.keys), std::move(keys)});
}

/// Tells whether the blob can never be read again.
bool is_gone(const Result<std::optional<blob_store::BlobPiece>>& read) {
  return read.failed_with(ErrorCode::kContainerNotFound) || read.failed_with(ErrorCode::kBlobArchived);
}

}  // namespace

Task<Result<void>> PieceContents::add_keys_of(Entity* row) {
  const auto* name = jobs::property<std::string>(*row, kBlobProperty);
  if (name == nullptr || keys_of(*row) != nullptr) co_return Result<void>{};
  auto read = co_await blobs_.read(container_, *name, 0, std::nullopt);
  if (is_gone(read)) co_return Result<void>{};
  auto piece = CO_TRY(std::move(read));
  const bool ours = piece && piece->source_version == kPieceMark && piece->bytes.size() == piece->size;
  if (ours) add(*row, std::move(piece->bytes));
  co_return Result<void>{};
}

Task<Result<void>> PieceContents::add_keys(std::vector<Entity*> rows) {
  const auto step = [&](std::size_t number) { return add_keys_of(rows[number]); };
  co_return co_await side_by_side(clock_, rows.size(), step, kBlobsAtOnce);
}

Task<Result<table_store::QueryPage>> PieceContents::read(table_store::TableClient& tables,
                                                         table_store::QueryRequest request) {
  std::map<std::string, std::string> known;
  std::set<std::string> missing;
  for (int race = 0; race < kReadRaces; ++race) {
    auto page = CO_TRY(co_await tables.query(request));
    std::vector<Entity*> rows;
    for (auto& row : page.entities) {
      const auto read = known.find(jobs::property_or<std::string>(row, kBlobProperty));
      if (read != known.end()) add(row, read->second);
      rows.push_back(&row);
    }
    CO_TRY(co_await add_keys(std::move(rows)));
    std::set<std::string> not_there;
    for (const auto& row : page.entities) {
      auto name = jobs::property_or<std::string>(row, kBlobProperty);
      if (keys_of(row) == nullptr) not_there.insert(std::move(name));
    }
    // If the row still names the blob, the blob was not replaced: it is lost, and the next scrub creates it again.
    if (std::ranges::includes(missing, not_there)) co_return page;
    for (const auto& row : page.entities) {
      if (const auto* keys = keys_of(row)) known.emplace(jobs::property_or<std::string>(row, kBlobProperty), *keys);
    }
    missing = std::move(not_there);
  }
  co_return fail(ErrorCode::kServerBusy, "The lists were replaced again and again while they were read. Please retry.");
}

}  // namespace tidemark::indexes
