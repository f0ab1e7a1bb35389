#include "queue_service/model/queue_parts.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "queue_service/model/pop_receipt.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::queue_service {
namespace {

void append_u16(std::string& out, std::uint32_t value) {
  out.push_back(static_cast<char>(value >> 8 & 0xFF));
  out.push_back(static_cast<char>(value & 0xFF));
}

std::uint32_t u16_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])) << 8 |
         static_cast<unsigned char>(bytes[at + 1]);
}

bool is_valid(const QueuePart& part) { return part.parts >= 2 && part.parts <= kMaxParts && part.number < part.parts; }

}  // namespace

Result<void> check_is_whole(std::string_view name) {
  if (!is_part(name)) return {};
  return fail(ErrorCode::kInvalidResourceName,
              "Parts of a spread queue have no name of their own: give the name of the queue, which stands for all.");
}

std::string part_text(const QueuePart& part) { return std::to_string(part.number) + "." + std::to_string(part.parts); }

std::optional<QueuePart> part_from_text(std::string queue, std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint32_t>(text.substr(0, dot), 0, kMaxParts);
  const auto parts = parse_number<std::uint32_t>(text.substr(dot + 1), 2, kMaxParts);
  if (!number || !parts || *number >= *parts) return std::nullopt;
  return QueuePart{std::move(queue), *number, *parts};
}

std::string part_name(const QueuePart& part) {
  const std::string_view base = without_poison_suffix(part.queue);
  return std::string(base) + '#' + part_text(part) + part.queue.substr(base.size());
}

std::vector<std::string> part_names(const std::string& queue, std::uint32_t parts) {
  std::vector<std::string> names{queue};
  for (std::uint32_t number = 0; parts > 1 && number < parts; ++number)
    names.push_back(part_name({queue, number, parts}));
  return names;
}

std::optional<QueuePart> part_in(std::string_view name) {
  const auto mark = name.find('#');
  if (mark == std::string_view::npos) return std::nullopt;
  const auto base = without_poison_suffix(name);
  if (base.size() < mark) return std::nullopt;
  return part_from_text(std::string(name.substr(0, mark)) + std::string(name.substr(base.size())),
                        base.substr(mark + 1));
}

std::string whole_queue(std::string_view name) {
  auto part = part_in(name);
  return part ? std::move(part->queue) : std::string(name);
}

std::string with_part(std::string_view receipt, const QueuePart& part) {
  auto bytes = base64_decode(receipt).value_or(std::string());
  append_u16(bytes, part.number);
  append_u16(bytes, part.parts);
  return base64_encode(bytes);
}

std::optional<QueuePart> part_of_receipt(std::string queue, std::string_view receipt) {
  const auto bytes = receipt_bytes(receipt);
  if (!bytes || bytes->size() != kPlaceBytes + kPartBytes) return std::nullopt;
  QueuePart part{std::move(queue), u16_at(*bytes, kPlaceBytes), u16_at(*bytes, kPlaceBytes + 2)};
  if (!is_valid(part)) return std::nullopt;
  return part;
}

std::string place_of_receipt(std::string queue, std::string_view receipt) {
  const auto part = is_part(queue) ? std::nullopt : part_of_receipt(queue, receipt);
  return part ? part_name(*part) : queue;
}

}  // namespace tidemark::queue_service
