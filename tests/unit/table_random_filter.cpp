#include "table_random_filter.h"

#include <array>
#include <cmath>
#include <limits>

#include "common/base/encoding.h"

namespace tidemark::table_store::reference {
namespace {

constexpr std::array<const char*, 6> kOps{"eq", "ne", "gt", "ge", "lt", "le"};
constexpr std::array<const char*, 8> kPartitions{
    "", "a", "a'b", "ab", "b", "\xEE\x80\x80", "\xF0\x9F\x98\x80", "\xED\x95\x9C"};
constexpr std::array<const char*, 6> kNames{"n", "s", "flag", "N", "when", "z_last"};

template <class T>
bool apply(std::size_t op, const T& a, const T& b) {
  switch (op) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a > b;
    case 3:
      return a >= b;
    case 4:
      return a < b;
    default:
      return a <= b;
  }
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

Value random_value(Random& random) {
  switch (random.below(9)) {
    case 0:
    case 1:
      return Value(static_cast<std::int32_t>(random.below(5)) - 1);
    case 2:
      return Value(static_cast<std::int64_t>(random.below(4)));
    case 3: {
      constexpr std::array<double, 6> kReals{
          0.0, 1.5, 2.0, -0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
      return Value(kReals[random.below(kReals.size())]);
    }
    case 4:
      return Value(std::string(kPartitions[random.below(kPartitions.size())]));
    case 5:
      return Value(random.below(2) == 0);
    case 6:
      return Value(Time(Ticks(static_cast<std::int64_t>(random.below(3)))));
    case 7: {
      Guid guid;
      guid.bytes[15] = static_cast<std::uint8_t>(random.below(3));
      return Value(guid);
    }
    default:
      return Value(Binary{std::string(random.below(3), '\x7F')});
  }
}

struct LiteralText {
  std::string operator()(const std::string& v) const { return in_quotes(v); }
  std::string operator()(std::int32_t v) const { return std::to_string(v); }
  std::string operator()(std::int64_t v) const { return std::to_string(v) + "L"; }
  std::string operator()(double v) const {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v > 0 ? "INF" : "-INF";
    return std::to_string(v);
  }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(Time v) const {
    return "datetime'1970-01-01T00:00:00.000000" + std::to_string(v.time_since_epoch().count()) + "Z'";
  }
  std::string operator()(const Guid& v) const {
    return "guid'00000000-0000-0000-0000-00000000000" + std::to_string(v.bytes[15]) + "'";
  }
  std::string operator()(const Binary& v) const { return "X'" + hex_encode(v.bytes) + "'"; }
};

/// Numbers here are small, so a long double holds each of them exactly.
std::optional<long double> number_of(const Value& value) {
  if (const auto* v = std::get_if<std::int32_t>(&value)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&value)) return static_cast<long double>(*v);
  if (const auto* v = std::get_if<double>(&value)) return *v;
  return std::nullopt;
}

bool compare(const Value& value, std::size_t op, const Value& literal) {
  const auto a = number_of(value);
  const auto b = number_of(literal);
  if (a && b) return apply(op, *a, *b);
  if (value.index() != literal.index()) return false;
  if (const auto* text = std::get_if<std::string>(&value)) {
    return apply(op, units_of(*text), units_of(std::get<std::string>(literal)));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return apply(op, *flag, std::get<bool>(literal));
  if (const auto* time = std::get_if<Time>(&value)) return apply(op, *time, std::get<Time>(literal));
  if (const auto* guid = std::get_if<Guid>(&value)) return apply(op, guid->bytes, std::get<Guid>(literal).bytes);
  return apply(op, std::get<Binary>(value).bytes, std::get<Binary>(literal).bytes);
}

/// Returns `literal op name` with the meaning of `name flipped-op literal`.
std::string flipped_text(const std::string& name, std::size_t op, const std::string& literal) {
  constexpr std::array<std::size_t, 6> kFlipped{0, 1, 4, 5, 2, 3};
  return literal + " " + kOps[kFlipped[op]] + " " + name;
}

std::string comparison_text(Random& random, const std::string& name, std::size_t op, const std::string& literal) {
  if (random.below(5) == 0) return flipped_text(name, op, literal);
  return name + " " + kOps[op] + " " + literal;
}

RandomFilter key_comparison(Random& random) {
  // Mostly equality, so that points and small ranges come up.
  const auto op = random.below(2) == 0 ? 0 : random.below(kOps.size());
  const bool partition = random.below(2) == 0;
  const auto key = partition ? random_partition(random) : random_row(random);
  return {comparison_text(random, partition ? "PartitionKey" : "RowKey", op, in_quotes(key)),
          [partition, op, units = units_of(key)](const Row& row) {
            return apply(op, units_of(partition ? row.partition_key : row.row_key), units);
          }};
}

RandomFilter own_comparison(Random& random) {
  const std::string name = kNames[random.below(kNames.size())];
  if (random.below(12) == 0) {
    return {name, [name](const Row& row) {
              const auto* value = row.find(name);
              return value != nullptr && value->index() == 4 && std::get<bool>(*value);
            }};
  }
  const auto op = random.below(kOps.size());
  auto literal = random_value(random);
  return {comparison_text(random, name, op, std::visit(LiteralText{}, literal)), [name, op, literal](const Row& row) {
            const auto* value = row.find(name);
            return value != nullptr && compare(*value, op, literal);
          }};
}

/// Returns pk eq 'p' and (rk eq 'a' or rk eq 'b' ...), the way clients read a handful of entities.
RandomFilter few_rows(Random& random) {
  const auto pk = random_partition(random);
  std::string text = "PartitionKey eq " + in_quotes(pk) + " and (";
  std::vector<std::string> wanted;
  for (auto n = 1 + random.below(6); n > 0; --n) {
    wanted.push_back(random_row(random));
    text += (wanted.size() == 1 ? "" : " or ") + std::string("RowKey eq ") + in_quotes(wanted.back());
  }
  return {text + ")", [pk, wanted](const Row& row) {
            return row.partition_key == pk && std::find(wanted.begin(), wanted.end(), row.row_key) != wanted.end();
          }};
}

}  // namespace

std::string random_partition(Random& random) { return kPartitions[random.below(kPartitions.size())]; }

std::string random_row(Random& random) {
  const auto kind = random.below(3);
  if (kind == 0) return kPartitions[random.below(kPartitions.size())];
  return std::to_string(random.below(12)) + (kind == 1 ? "" : "x");
}

Property random_property(Random& random) { return {kNames[random.below(kNames.size())], random_value(random)}; }

RandomFilter random_filter(Random& random, int depth) {
  const auto kind = random.below(depth > 0 ? 12 : 6);
  if (kind < 3) return key_comparison(random);
  if (kind < 5) return own_comparison(random);
  if (kind == 5) return few_rows(random);
  auto a = random_filter(random, depth - 1);
  if (kind == 6) return {"not (" + a.text + ")", [f = a.matches](const Row& row) { return !f(row); }};
  auto b = random_filter(random, depth - 1);
  const bool is_and = kind < 10;
  return {
      "(" + a.text + ")" + (is_and ? " and " : " or ") + "(" + b.text + ")",
      [is_and, f = a.matches, g = b.matches](const Row& row) { return is_and ? f(row) && g(row) : f(row) || g(row); }};
}

}  // namespace tidemark::table_store::reference
