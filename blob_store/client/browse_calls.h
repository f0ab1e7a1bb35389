// The calls by which people look at an account's blobs and change them, without the fences that workers need. Their
// writes keep the rules of the public endpoint: leases, conditions, snapshots.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/client/blob_calls.h"
#include "blob_store/model/blob.h"
#include "common/base/stored_policy.h"

namespace tidemark::blob_store {

struct ContainerFacts {
  std::string name;
  Time changed{};
  std::string public_access;  // "", "blob" or "container"
  Lease lease;
};

struct ContainerPage {
  std::vector<ContainerFacts> containers;
  std::string next;  // `from` of the next page; empty: this was the last
};

struct BlobFacts {
  std::string type;  // as in x-ms-blob-type
  std::uint64_t size = 0;
  Stamp version;
  Time changed{}, created{};
  std::string etag;  // without quotes
  ContentHeaders headers;
  std::string tier;
  Lease lease;
  Metadata metadata;  // lists leave out metadata and tags
  Tags tags;
};

struct BrowsedBlob {
  std::string name;
  std::optional<BlobFacts> facts;  // absent for a common prefix
};

struct BrowsedPage {
  std::vector<BrowsedBlob> blobs;
  std::string next;  // `from` of the next page; empty: this was the last
};

namespace calls {

struct Containers {
  static constexpr std::string_view kMethod = "blob.containers";
  using Reply = ContainerPage;
  std::string account, prefix, from;
  std::uint32_t limit = 0;
};

struct RemoveContainer {
  static constexpr std::string_view kMethod = "blob.remove_container";
  using Reply = void;
  std::string account, container;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct Policies {
  static constexpr std::string_view kMethod = "blob.policies";
  using Reply = StoredPolicies;
  std::string account, container;
};

/// Leaves the container's public access as it is.
struct SetPolicies {
  static constexpr std::string_view kMethod = "blob.set_policies";
  using Reply = void;
  std::string account, container;
  StoredPolicies policies;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

/// Names that contain the delimiter after the prefix are folded into one; an empty delimiter folds none.
struct Browse {
  static constexpr std::string_view kMethod = "blob.browse";
  using Reply = BrowsedPage;
  std::string account, container, prefix, delimiter, from;
  std::uint32_t limit = 0;
};

struct Inspect {
  static constexpr std::string_view kMethod = "blob.inspect";
  using Reply = BlobFacts;
  std::string account, container, name;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct UploadPiece {
  static constexpr std::string_view kMethod = "blob.upload_piece";
  using Reply = void;
  std::string account, container, name, upload;
  std::uint32_t index = 0;
  std::string bytes;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct FinishUpload {
  static constexpr std::string_view kMethod = "blob.finish_upload";
  using Reply = void;
  std::string account, container, name, upload;
  std::uint32_t count = 0;  // the number of pieces
  NewContent content;
  std::string if_match;  // an ETag without quotes, or "*"; empty: the blob must not exist
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct RemoveBlob {
  static constexpr std::string_view kMethod = "blob.remove";
  using Reply = void;
  std::string account, container, name;
  std::string if_match;  // an ETag without quotes, or "*"
  bool with_snapshots = false;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

}  // namespace calls
}  // namespace tidemark::blob_store
