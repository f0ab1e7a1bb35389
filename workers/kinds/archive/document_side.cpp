#include "workers/kinds/archive/document_side.h"

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/archived_object.h"
#include "jobs/plan/plan.h"
#include "table_store/odata/entity_text.h"

namespace tidemark::workers {
namespace {

// A page grows while documents are small, and shrinks when they are large.
constexpr std::size_t kMostDocuments = 1000;
constexpr std::size_t kLeastDocuments = 10;
constexpr std::size_t kSmallPageBytes = 4UL << 20;
constexpr std::size_t kLargePageBytes = 16UL << 20;

}  // namespace

Task<Result<Page>> DocumentSide::read(std::string continuation) {
  auto names = CO_TRY(co_await objects_->list(jobs::archive_root(archive_), std::move(continuation)));
  Page page;
  page.continuation = std::move(names.next);
  if (names.names.size() > page_documents_) {
    page.continuation = names.names[page_documents_];
    names.names.resize(page_documents_);
  }
  std::erase_if(names.names, [this](const std::string& name) { return !jobs::is_object_name(archive_, name); });
  std::vector<Document> found(names.names.size());
  CO_TRY(
      co_await context_.side_by_side(found.size(), [&](std::size_t i) { return load_into(names.names[i], found[i]); }));
  std::size_t bytes = 0;
  std::size_t key_bytes = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto& [exists, entity] = found[i];
    if (exists && !entity) page.foreign.push_back(names.names[i]);
    if (!entity) continue;
    // The keys of a page must fit into a note.
    key_bytes += entity->partition_key.size() + entity->row_key.size() + kBesideNotedKey + kNotedVersionBytes;
    if (key_bytes > kPageKeyBytes && i > 0) {
      page.continuation = names.names[i];
      break;
    }
    bytes += jobs::entity_bytes(*entity);
    if (selects(*entity)) page.entities.push_back(std::move(*entity));
  }
  if (bytes < kSmallPageBytes) page_documents_ = std::min(kMostDocuments, 2 * page_documents_);
  if (bytes > kLargePageBytes) page_documents_ = std::max(kLeastDocuments, page_documents_ / 2);
  co_return page;
}

Task<Result<void>> DocumentSide::load_into(std::string name, Document& into) {
  CO_TRY(context_.check());
  into = CO_TRY(co_await load(std::move(name)));
  co_return Result<void>{};
}

Task<Result<DocumentSide::Document>> DocumentSide::load(std::string name) {
  auto read = co_await objects_->read(name);
  // A damaged document is no reason to leave the others.
  if (read.failed_with(ErrorCode::kCorruption)) co_return Document{true, {}};
  auto object = CO_TRY(std::move(read));
  Document document;
  document.exists = object.has_value();
  if (!document.exists) co_return document;
  auto entities = CO_TRY(jobs::archived_in(archive_, name, *object));
  if (entities) document.entity = std::move(entities->front());
  co_return document;
}

Task<Result<std::optional<Entity>>> DocumentSide::get(jobs::EntityKey key) {
  auto document = CO_TRY(co_await load(jobs::document_name(archive_, key.partition_key, key.row_key)));
  if (document.entity && !of_operation(*document.entity)) co_return std::optional<Entity>();
  co_return std::move(document.entity);
}

Task<Result<Unfinished>> DocumentSide::unfinished(nlohmann::json note) {
  auto noted = entities_of_note(note);
  std::vector<Document> found(noted.size());
  CO_TRY(co_await context_.side_by_side(noted.size(), [&](std::size_t i) {
    return load_into(jobs::document_name(archive_, noted[i].key.partition_key, noted[i].key.row_key), found[i]);
  }));
  Unfinished out;
  for (std::size_t i = 0; i < noted.size(); ++i) {
    if (found[i].entity && found[i].entity->version >= noted[i].version) out.keys.push_back(std::move(noted[i].key));
  }
  co_return out;
}

Task<Result<PutOutcome>> DocumentSide::put(Unit unit) {
  PutOutcome out;
  out.ends.resize(unit.entities.size(), PutEnd::kThere);
  CO_TRY(co_await context_.side_by_side(unit.entities.size(),
                                        [&](std::size_t i) { return put_one(unit.entities[i], out.ends[i]); }));
  co_return out;
}

Task<Result<void>> DocumentSide::put_one(const Entity& entity, PutEnd& end) {
  CO_TRY(context_.check());
  auto archived = entity;
  archived.operation = context_.job_id();
  jobs::ObjectWrite write;
  write.name = name_of(entity);
  table_store::append_entity_text(write.bytes, archived, jobs::archive_root(archive_));
  write.type = std::string(jobs::type_of_object(write.name));
  write.version = entity.version;
  auto name = write.name;
  const auto outcome = CO_TRY(co_await put_object(std::move(write)));
  if (outcome == WriteOutcome::kApplied) co_return Result<void>{};
  auto there = CO_TRY(co_await load(std::move(name)));
  const bool foreign = there.exists && !there.entity;
  end = foreign ? PutEnd::kInTheWay : PutEnd::kReadAgain;
  if (outcome != WriteOutcome::kUnchanged || !there.entity || there.entity->version != entity.version) {
    co_return Result<void>{};
  }
  end = CO_TRY(co_await end_of_shared(std::move(there.entity->operation)));
  co_return Result<void>{};
}

Task<Result<void>> DocumentSide::take_back(std::string, std::vector<jobs::EntityKey> keys) {
  for (const auto& key : keys) {
    CO_TRY(context_.check());
    auto name = jobs::document_name(archive_, key.partition_key, key.row_key);
    const auto document = CO_TRY(co_await load(name));
    if (!document.entity || document.entity->operation != context_.job_id()) continue;
    CO_TRY(co_await erase_object(std::move(name), document.entity->version));
  }
  co_return Result<void>{};
}

Task<Result<RemoveOutcome>> DocumentSide::remove(std::vector<Entity> entities) {
  RemoveOutcome out;
  out.ends.resize(entities.size(), RemoveEnd::kRemoved);
  CO_TRY(co_await context_.side_by_side(entities.size(),
                                        [&](std::size_t i) { return remove_one(entities[i], out.ends[i]); }));
  co_return out;
}

Task<Result<void>> DocumentSide::remove_one(const Entity& entity, RemoveEnd& end) {
  const auto outcome = CO_TRY(co_await erase_object(name_of(entity), entity.version));
  if (outcome == WriteOutcome::kMissing) end = RemoveEnd::kGone;
  if (outcome == WriteOutcome::kSuperseded) end = RemoveEnd::kChanged;
  co_return Result<void>{};
}

}  // namespace tidemark::workers
