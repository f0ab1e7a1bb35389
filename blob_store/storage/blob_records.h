// The bytes of the stored values, which begin with a format number. Errors: kCorruption.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "common/base/error.h"

namespace tidemark::blob_store::records {

struct StagedSummary {
  std::uint64_t id_length = 0;
  std::uint64_t count = 0;
  Time last_staged{};
};

std::string encode(const Container& container);
std::string encode(const Blob& blob);
std::string encode(const std::vector<Extent>& extents);
std::string encode(const StagedBlock& block);
std::string encode(const StagedSummary& summary);
std::string encode_number(std::uint64_t number);

Result<Container> decode_container(std::string_view bytes);
Result<Blob> decode_blob(std::string_view bytes);
Result<std::vector<Extent>> decode_extents(std::string_view bytes);
Result<StagedBlock> decode_staged_block(std::string_view bytes);
Result<StagedSummary> decode_staged_summary(std::string_view bytes);
Result<std::uint64_t> decode_number(std::string_view bytes);

}  // namespace tidemark::blob_store::records
