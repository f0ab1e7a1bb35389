// Objects as blobs of one container. Large ones are staged piece by piece and published by one fenced change of the
// metadata; the blob store collects the pieces of attempts that died. A missing container counts as empty, and the
// first put creates it.
#pragma once
#include "jobs/objects/object_store.h"

namespace tidemark::jobs {

class BlobObjects final : public ObjectStore {
 public:
  BlobObjects(std::shared_ptr<blob_store::BlobClient> blobs, std::string container)
      : blobs_(std::move(blobs)), container_(std::move(container)) {}
  /// `blobs` must outlive this object.
  BlobObjects(blob_store::BlobClient& blobs, std::string container)
      : BlobObjects(std::shared_ptr<blob_store::BlobClient>(std::shared_ptr<void>(), &blobs), std::move(container)) {}
  Task<Result<void>> prepare() override { return blobs_->ensure_container(container_); }
  Task<Result<bool>> open(Fence fence) override;
  Task<Result<void>> close(Fence fence) override;
  Task<Result<WriteOutcome>> put(ObjectWrite write, Fence fence) override;
  Task<Result<WriteOutcome>> erase(std::string name, std::int64_t version, Fence fence) override;
  Task<Result<std::optional<StoredObject>>> read(std::string name) override;
  Task<Result<ObjectNames>> list(std::string prefix, std::string from) override;
  Task<Result<void>> require() override;

 private:
  Task<Result<WriteOutcome>> put_once(ObjectWrite write, Fence fence);
  Task<Result<WriteOutcome>> put_pieces(ObjectWrite write, blob_store::NewContent content, Fence fence);
  std::shared_ptr<blob_store::BlobClient> blobs_;
  std::string container_;
};

}  // namespace tidemark::jobs
