#include "queue_service/model/queue_rules.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"
#include "common/base/xml_text.h"
#include "queue_service/model/message.h"
#include "queue_service/model/queue_parts.h"

namespace tidemark::queue_service {
namespace {

bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }

bool is_identifier(std::string_view name) {
  if (!is_letter(name.front()) && name.front() != '_') return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

Error too_long_for_poison() {
  return make_error(ErrorCode::kInvalidMetadata, "The name of the queue is too long to have a poison queue.");
}

Error too_large(std::size_t limit) {
  auto error = make_error(ErrorCode::kRequestBodyTooLarge);
  error.fields.emplace_back("MaxLimit", std::to_string(limit));
  return error;
}

}  // namespace

Result<void> check_queue_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63) {
    return fail(ErrorCode::kOutOfRangeInput,
                "The specified resource name length is not within the permissible limits.");
  }
  if (!is_lower_or_digit(name.front()) || !is_lower_or_digit(name.back())) {
    return fail(ErrorCode::kInvalidResourceName);
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '-' ? name[i - 1] == '-' : !is_lower_or_digit(name[i])) {
      return fail(ErrorCode::kInvalidResourceName);
    }
  }
  return {};
}

Result<Metadata> checked_metadata(Metadata metadata) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : metadata) {
    if (name.empty()) return fail(ErrorCode::kEmptyMetadataKey);
    if (!is_identifier(name) || !is_xml_text(value)) return fail(ErrorCode::kInvalidMetadata);
    bytes += name.size() + value.size();
  }
  if (bytes > kMaxMetadataBytes) return fail(ErrorCode::kMetadataTooLarge);
  std::stable_sort(metadata.begin(), metadata.end(),
                   [](const auto& a, const auto& b) { return to_lower_ascii(a.first) < to_lower_ascii(b.first); });
  // A header given twice means the list of its values.
  Metadata merged;
  for (auto& item : metadata) {
    if (!merged.empty() && iequals_ascii(merged.back().first, item.first)) {
      merged.back().second += "," + item.second;
    } else {
      merged.push_back(std::move(item));
    }
  }
  return merged;
}

Metadata patched(Metadata metadata, const Metadata& changes) {
  for (const auto& [name, value] : changes) {
    std::erase_if(metadata, [&](const auto& entry) { return iequals_ascii(entry.first, name); });
    if (!value.empty()) metadata.emplace_back(name, value);
  }
  return metadata;
}

bool same_metadata(const Metadata& a, const Metadata& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return iequals_ascii(x.first, y.first) && x.second == y.second;
  });
}

std::string poison_queue_of(std::string_view queue) { return std::string(queue) + std::string(kPoisonSuffix); }

const std::string* entry_in(const Metadata& metadata, std::string_view name) {
  const auto found =
      std::ranges::find_if(metadata, [&](const auto& entry) { return iequals_ascii(entry.first, name); });
  return found == metadata.end() ? nullptr : &found->second;
}

std::uint32_t parts_in(const Metadata& metadata) {
  const auto* const value = entry_in(metadata, kPartsName);
  return value == nullptr ? 1 : parse_number<std::uint32_t>(*value, 1, kMaxParts).value_or(1);
}

Result<QueueOptions> options_in(const Metadata& metadata, std::string_view queue) {
  QueueOptions options;
  for (const auto& [name, value] : metadata) {
    if (iequals_ascii(name, kPausedName)) {
      options.paused = iequals_ascii(value, "true");
      if (!options.paused && !iequals_ascii(value, "false")) {
        return fail(ErrorCode::kInvalidMetadata, "tidemark_paused must be true or false.");
      }
    } else if (iequals_ascii(name, kMaxDequeueCountName)) {
      const auto count = parse_number<std::uint32_t>(value, 0, kMaxMaxDequeueCount);
      if (!count) {
        return fail(ErrorCode::kInvalidMetadata, "tidemark_max_dequeue_count must be a number from 0 to 10000.");
      }
      options.max_dequeue_count = *count;
      if (options.max_dequeue_count > 0 && !check_queue_name(poison_queue_of(queue))) {
        return fail(too_long_for_poison());
      }
    } else if (iequals_ascii(name, kPartsName)) {
      const auto parts = parse_number<std::uint32_t>(value, 1, kMaxParts);
      if (!parts) {
        return fail(ErrorCode::kInvalidMetadata,
                    "tidemark_parts must be a number from 1 to " + std::to_string(kMaxParts) + ".");
      }
      options.parts = *parts;
      const bool needs_poison_queue = options.parts > 1 && !is_poison_queue(queue);
      if (needs_poison_queue && !check_queue_name(poison_queue_of(queue))) return fail(too_long_for_poison());
    }
  }
  return options;
}

Result<void> check_key(std::string_view what, std::string_view key, std::size_t limit) {
  const bool plain = std::none_of(key.begin(), key.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!key.empty() && key.size() <= limit && plain && is_xml_text(key)) return {};
  return fail(ErrorCode::kInvalidInput, std::string(what) + " must be text of 1 to " + std::to_string(limit) +
                                            " bytes without control characters.");
}

void replace_text(Message& message, std::string text, std::string_view queue) {
  if (is_poison_queue(queue) && !message.original) message.original = std::move(message.text);
  message.text = std::move(text);
  if (message.original == message.text) message.original.reset();
}

std::optional<Duration> life_of(std::int64_t seconds) {
  if (seconds < 0) return std::nullopt;
  return std::chrono::seconds(
      std::min<std::int64_t>(seconds, std::chrono::floor<std::chrono::seconds>(Duration::max()).count()));
}

Result<void> check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) return fail(too_large(kMaxTextBytes));
  if (is_xml_text(text)) return {};
  return fail(ErrorCode::kInvalidInput,
              "The text of a message must be UTF-8 without characters that XML does not allow (control characters, "
              "U+FFFE, U+FFFF). Put it in Base64.");
}

Result<void> check_annotation(std::string_view annotation) {
  if (annotation.size() > kMaxAnnotationBytes) return fail(too_large(kMaxAnnotationBytes));
  return {};
}

}  // namespace tidemark::queue_service
