// One document per entity as one side of a move. A document is put if it is newer, and erased if it is still the
// version that was restored. A document that somebody else put under its name stays, and is in the way.
#pragma once
#include "workers/kinds/archive/object_side.h"

namespace tidemark::workers {

class DocumentSide final : public ObjectSide {
 public:
  using ObjectSide::ObjectSide;

  Task<Result<Page>> read(std::string continuation) override;
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override;
  Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) override;
  Task<Result<Unfinished>> unfinished(nlohmann::json note) override;
  Task<Result<PutOutcome>> put(Unit unit) override;
  Task<Result<void>> take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) override;

 private:
  struct Document {
    bool exists = false;
    std::optional<Entity> entity;  // absent if no job has written the document, or if it is damaged
  };
  Task<Result<Document>> load(std::string name);
  Task<Result<void>> load_into(std::string name, Document& into);
  Task<Result<void>> put_one(const Entity& entity, PutEnd& end);
  Task<Result<void>> remove_one(const Entity& entity, RemoveEnd& end);
  [[nodiscard]] std::string name_of(const Entity& entity) const {
    return jobs::document_name(archive_, entity.partition_key, entity.row_key);
  }
  std::size_t page_documents_ = 100;
};

}  // namespace tidemark::workers
