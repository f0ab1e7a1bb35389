// What a queue, its metadata and its messages may look like: names, sizes and ranges of the protocol. Pure checks; no
// I/O. Errors are those a client sees.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::queue_service {

inline constexpr std::size_t kMaxTextBytes = 65536;
inline constexpr std::size_t kMaxBodyBytes = 131584;
inline constexpr std::size_t kMaxAnnotationBytes = 256UL << 10;
inline constexpr std::size_t kMaxMetadataBytes = 8UL << 10;
inline constexpr std::size_t kMaxPolicies = 5;
inline constexpr std::uint32_t kMaxMessagesPerGet = 32;
inline constexpr std::uint32_t kMaxQueuesPerPage = 5000;
inline constexpr std::uint32_t kMaxMessagesPerList = 1000;
inline constexpr Duration kMaxVisibility = std::chrono::seconds(604800);
inline constexpr Duration kMaxReceiveWait = std::chrono::seconds(30);

/// Names keep the case they were given in; sorted by sort_metadata.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// kOutOfRangeInput for the length, kInvalidResourceName for the characters.
Result<void> check_queue_name(std::string_view name);
/// kEmptyMetadataKey, kInvalidMetadata, kMetadataTooLarge. On success sorted by name whatever the case.
Result<Metadata> checked_metadata(Metadata metadata);
/// The full sets are equal; names whatever the case.
bool same_metadata(const Metadata& a, const Metadata& b);
/// kRequestBodyTooLarge with the field MaxLimit.
Result<void> check_text(std::string_view text);
/// kRequestBodyTooLarge.
Result<void> check_annotation(std::string_view annotation);
/// True if every character may stand in an XML 1.0 document and the text is UTF-8.
bool is_xml_text(std::string_view utf8);

}  // namespace tidemark::queue_service
