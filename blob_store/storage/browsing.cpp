#include "blob_store/storage/browsing.h"

#include "blob_store/model/names.h"
#include "common/base/bytes.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

constexpr std::uint32_t kMaxListed = 1000;

/// Returns the id of the block that holds a piece of an upload: base64 of 24 bytes, always the same length.
std::string block_id(const std::string& upload, std::uint64_t index) {
  std::string identity;
  ByteWriter out(identity);
  out.raw(md5(upload));
  out.u64(index);
  return base64_encode(identity);
}

ContainerFacts facts_of(NamedContainer item) {
  return {std::move(item.name), item.container.version.time(), std::move(item.container.public_access),
          std::move(item.container.lease)};
}

BlobFacts facts_of(Blob blob) {
  BlobFacts facts{std::string(name_of(blob.type)),
                  blob.size,
                  blob.version,
                  blob.version.time(),
                  blob.created.time(),
                  blob.version.etag(),
                  std::move(blob.headers),
                  std::move(blob.tier),
                  std::move(blob.lease),
                  std::move(blob.metadata),
                  std::move(blob.tags)};
  if (facts.tier.empty() && blob.type == BlobType::kBlock) facts.tier = "Hot";
  return facts;
}

ListRequest listing_of(std::string prefix, std::string from, std::uint32_t limit) {
  ListRequest listing;
  listing.prefix = std::move(prefix);
  listing.from.name = std::move(from);
  listing.limit = std::min(limit, kMaxListed);
  return listing;
}

/// The blob must have this ETag, or exist ("*"), or, if the text is empty, not exist.
Conditions conditions_of(std::string if_match) {
  Conditions conditions;
  auto& wanted = if_match.empty() ? conditions.if_none_match : conditions.if_match;
  wanted.push_back(if_match.empty() ? "*" : std::move(if_match));
  return conditions;
}

template <class Call>
BlobRef blob_in(Call& call) {
  return {std::move(call.account), std::move(call.container), blob_name_of(std::move(call.name))};
}

}  // namespace

namespace handlers {

Result<ContainerPage> containers(BlobService& service, calls::Containers call) {
  const auto listing = listing_of(std::move(call.prefix), std::move(call.from), call.limit);
  auto found = TRY(service.list_containers(call.account, listing));
  ContainerPage page;
  for (auto& item : found.items) page.containers.push_back(facts_of(std::move(item)));
  page.next = std::move(found.next.name);
  return page;
}

Task<Result<void>> remove_container(BlobService& service, calls::RemoveContainer call) {
  co_return co_await service.delete_container({std::move(call.account), std::move(call.container)}, {});
}

Result<StoredPolicies> policies(BlobService& service, calls::Policies call) {
  auto container = TRY(service.get_container({std::move(call.account), std::move(call.container)}, {}));
  return std::move(container.policies);
}

Task<Result<void>> set_policies(BlobService& service, calls::SetPolicies call) {
  CO_TRY(co_await service.set_container_policies({std::move(call.account), std::move(call.container)},
                                                 std::move(call.policies)));
  co_return Result<void>();
}

Result<BrowsedPage> browse(BlobService& service, calls::Browse call) {
  auto listing = listing_of(std::move(call.prefix), std::move(call.from), call.limit);
  listing.delimiter = std::move(call.delimiter);
  auto found = TRY(service.list_blobs({std::move(call.account), std::move(call.container)}, listing));
  BrowsedPage page;
  for (auto& item : found.items) {
    BrowsedBlob blob{std::move(item.name), {}};
    if (!item.folded) {
      item.blob.metadata.clear();
      item.blob.tags.clear();
      blob.facts = facts_of(std::move(item.blob));
    }
    page.blobs.push_back(std::move(blob));
  }
  page.next = std::move(found.next.name);
  return page;
}

Result<BlobFacts> inspect(BlobService& service, calls::Inspect call) {
  return facts_of(TRY(service.get_blob(blob_in(call), {})));
}

Task<Result<void>> upload_piece(BlobService& service, calls::UploadPiece call) {
  auto id = block_id(call.upload, call.index);
  auto ref = blob_in(call);
  auto payload = CO_TRY(co_await store_payload(service, ref, std::move(call.bytes)));
  const auto written = payload.id;
  auto done = co_await service.put_block(std::move(ref), std::move(id), std::move(payload));
  if (!done) service.abandon(written);
  co_return done;
}

Task<Result<void>> finish_upload(BlobService& service, calls::FinishUpload call) {
  if (call.count > kMaxBlocksInList) co_return fail(ErrorCode::kBlockListTooLong);
  std::vector<BlockChoice> choices;
  choices.reserve(call.count);
  for (std::uint32_t index = 0; index < call.count; ++index) {
    choices.push_back({BlockSource::kUncommitted, block_id(call.upload, index)});
  }
  CO_TRY(co_await service.put_block_list(blob_in(call), std::move(choices), std::move(call.content),
                                         conditions_of(std::move(call.if_match))));
  co_return Result<void>();
}

Task<Result<void>> remove_blob(BlobService& service, calls::RemoveBlob call) {
  if (call.if_match.empty()) co_return fail(ErrorCode::kInvalidInput);
  const auto snapshots = call.with_snapshots ? DeleteSnapshots::kInclude : DeleteSnapshots::kNone;
  CO_TRY(co_await service.delete_blob(blob_in(call), snapshots, conditions_of(std::move(call.if_match))));
  co_return Result<void>();
}

}  // namespace handlers
}  // namespace tidemark::blob_store
