// Encodes values for calls between processes of the same build: the fields of a struct in their order, without names or
// numbers, so both sides must use the same type. Stored data has formats of its own.
//
//   bool u8   unsigned, enum: varint   int32: zigzag varint   int64, Duration, Time: i64   double f64   string: string
//   optional: bool, value   vector: varint count, values   variant: varint index, value   array of bytes: raw
//   Result: varint 0 and the value, or the number of the error's code; the rest of the error does not travel
//
// Decoding trusts nothing: any bytes give either a value of the type or nothing, and a count never makes it allocate
// more than the bytes after it can fill. The values of an enum are 1 to its kLast; those of ErrorCode are the known
// ones. Thread safe.
#pragma once
#include <array>
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/rpc/fields.h"

namespace tidemark::wire {

/// The largest number of items in a list.
inline constexpr std::uint64_t kMaxItems = 100'000;

namespace detail {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <class T>
inline constexpr bool is_bytes = false;
template <std::size_t n>
inline constexpr bool is_bytes<std::array<std::uint8_t, n>> = true;

}  // namespace detail

template <class T>
void write(ByteWriter& out, const T& value) {
  using detail::is_a;
  if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (std::is_enum_v<T>) {
    out.varint(static_cast<std::uint64_t>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    out.varint(value);
  } else if constexpr (std::same_as<T, std::int32_t>) {
    out.varint((static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31));
  } else if constexpr (std::same_as<T, std::int64_t>) {
    out.i64(value);
  } else if constexpr (std::same_as<T, double>) {
    out.f64(value);
  } else if constexpr (is_a<T, std::chrono::duration>) {
    out.i64(value.count());
  } else if constexpr (is_a<T, std::chrono::time_point>) {
    out.i64(value.time_since_epoch().count());
  } else if constexpr (std::same_as<T, std::string>) {
    out.string(value);
  } else if constexpr (detail::is_bytes<T>) {
    out.raw({reinterpret_cast<const char*>(value.data()), value.size()});
  } else if constexpr (is_a<T, std::optional>) {
    out.boolean(value.has_value());
    if (value) write(out, *value);
  } else if constexpr (is_a<T, std::vector>) {
    out.varint(value.size());
    for (const auto& item : value) write<typename T::value_type>(out, item);
  } else if constexpr (is_a<T, std::variant>) {
    out.varint(value.index());
    std::visit([&out](const auto& held) { write(out, held); }, value);
  } else if constexpr (is_a<T, Result>) {
    out.varint(value ? 0 : static_cast<std::uint16_t>(value.error().code));
    if constexpr (!std::is_void_v<typename T::value_type>) {
      if (value) write(out, *value);
    }
  } else {
    std::apply([&out](const auto&... field) { (write(out, field), ...); }, fields_of(value));
  }
}

template <class T>
bool read(ByteReader& in, T& into);

namespace detail {

template <std::integral T>
bool read_number(ByteReader& in, T& into) {
  const auto number = in.varint();
  into = static_cast<T>(number);
  return in.ok() && std::in_range<T>(number);
}

template <class T>
bool read_list(ByteReader& in, std::vector<T>& into) {
  const auto count = in.varint();
  // Every item takes at least one byte.
  if (count > kMaxItems || count > ByteReader(in).rest().size()) return false;
  into.clear();
  into.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    T item{};
    if (!read(in, item)) return false;
    into.push_back(std::move(item));
  }
  return in.ok();
}

template <class... Held>
bool read_variant(ByteReader& in, std::variant<Held...>& into) {
  const auto index = in.varint();
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return ((index == i && read(in, into.template emplace<i>())) || ...);
  }(std::index_sequence_for<Held...>{});
}

template <class T>
bool read_result(ByteReader& in, Result<T>& into) {
  std::uint16_t number = 0;
  if (!read(in, number)) return false;
  if (number != 0) {
    const auto code = error_code_from_number(number);
    if (code) into = fail(*code);
    return code.has_value();
  }
  if constexpr (std::is_void_v<T>) {
    into = {};
    return true;
  } else {
    T value{};
    if (!read(in, value)) return false;
    into = std::move(value);
    return true;
  }
}

}  // namespace detail

/// Returns false if the bytes are not a T; `into` may then have any value.
template <class T>
bool read(ByteReader& in, T& into) {
  using detail::is_a;
  if constexpr (std::same_as<T, bool>) {
    const auto byte = in.u8();
    into = byte == 1;
    return in.ok() && byte <= 1;
  } else if constexpr (std::same_as<T, ErrorCode>) {
    std::uint16_t number = 0;
    const auto code = read(in, number) ? error_code_from_number(number) : std::nullopt;
    into = code.value_or(into);
    return code.has_value();
  } else if constexpr (std::is_enum_v<T>) {
    const auto number = in.varint();
    into = static_cast<T>(number);
    return number >= 1 && number <= static_cast<std::uint64_t>(T::kLast);
  } else if constexpr (std::unsigned_integral<T>) {
    return detail::read_number(in, into);
  } else if constexpr (std::same_as<T, std::int32_t>) {
    std::uint32_t number = 0;
    if (!detail::read_number(in, number)) return false;
    into = static_cast<std::int32_t>((number >> 1) ^ (0U - (number & 1U)));
    return true;
  } else if constexpr (std::same_as<T, std::int64_t>) {
    into = in.i64();
    return in.ok();
  } else if constexpr (std::same_as<T, double>) {
    into = in.f64();
    return in.ok();
  } else if constexpr (is_a<T, std::chrono::duration>) {
    into = T(in.i64());
    return in.ok();
  } else if constexpr (is_a<T, std::chrono::time_point>) {
    into = T(typename T::duration(in.i64()));
    return in.ok();
  } else if constexpr (std::same_as<T, std::string>) {
    into = in.string();
    return in.ok();
  } else if constexpr (detail::is_bytes<T>) {
    const auto bytes = in.raw(into.size());
    std::copy(bytes.begin(), bytes.end(), into.begin());
    return in.ok();
  } else if constexpr (is_a<T, std::optional>) {
    bool present = false;
    into.reset();
    return read(in, present) && (!present || read(in, into.emplace()));
  } else if constexpr (is_a<T, std::vector>) {
    return detail::read_list(in, into);
  } else if constexpr (is_a<T, std::variant>) {
    return detail::read_variant(in, into);
  } else if constexpr (is_a<T, Result>) {
    return detail::read_result(in, into);
  } else {
    return std::apply([&in](auto&... field) { return (read(in, field) && ...); }, fields_of(into));
  }
}

template <class T>
std::string encode(const T& value) {
  std::string bytes;
  ByteWriter out(bytes);
  write(out, value);
  return bytes;
}

/// Returns nothing unless the bytes are exactly one T.
template <class T>
std::optional<T> decode(std::string_view bytes) {
  ByteReader in(bytes);
  std::optional<T> value(std::in_place);
  if (!read(in, *value) || !in.finished()) value.reset();
  return value;
}

}  // namespace tidemark::wire
