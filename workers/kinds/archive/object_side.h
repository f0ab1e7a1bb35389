// The common part of documents and parts as one side of a move: the objects, their names, and the selection among them.
#pragma once
#include "jobs/kinds/archive/archived_object.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/objects/object_store.h"
#include "table_store/model/filter.h"
#include "workers/kinds/archive/side.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {

class ObjectSide : public Side {
 public:
  ObjectSide(JobContext& context, std::unique_ptr<jobs::ObjectStore> objects, jobs::ObjectArchive archive,
             Selected selection, table_store::Filter filter)
      : Side(context),
        objects_(std::move(objects)),
        archive_(std::move(archive)),
        selection_(std::move(selection)),
        filter_(std::move(filter)) {}

  Task<Result<bool>> open() override { return objects_->open(context_.fence({})); }
  Task<Result<void>> close() override { return objects_->close(context_.fence({})); }
  Task<Result<void>> prepare() override { return objects_->prepare(); }
  Task<Result<void>> require() override { return objects_->require(); }
  Task<Result<void>> require_any() override { return jobs::require_any(*objects_, archive_); }

 protected:
  using WriteOutcome = jobs::WriteOutcome;
  Task<Result<WriteOutcome>> put_object(jobs::ObjectWrite write) {
    return fail_points::kObjectPut.around(objects_->put(std::move(write), context_.fence({})));
  }
  Task<Result<WriteOutcome>> erase_object(std::string name, std::int64_t version) {
    return fail_points::kObjectErase.around(objects_->erase(std::move(name), version, context_.fence({})));
  }
  [[nodiscard]] bool of_operation(const Entity& entity) const {
    return selection_.operation.empty() || entity.operation == selection_.operation;
  }
  [[nodiscard]] bool selects(const Entity& entity) const { return filter_.matches(entity) && of_operation(entity); }

  std::unique_ptr<jobs::ObjectStore> objects_;
  jobs::ObjectArchive archive_;
  Selected selection_;
  table_store::Filter filter_;
};

}  // namespace tidemark::workers
