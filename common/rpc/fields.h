// The fields of an aggregate, as boost::pfr gives them, at a fraction of its compile time: boost::pfr tries up to eight
// times as many fields as the structure has bytes, while this tries one more at a time. A wrong count does not compile.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

namespace tidemark::wire {
namespace detail {

/// Stands for a field of any type in a test of an initialisation. It is never constructed.
struct Anything {
  template <class T>
  operator T&() const&& noexcept;
  template <class T>
  operator T&() const& noexcept;
};

template <class T, class... Tried>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Tried{}..., Anything{}}; }) {
    return count_fields<T, Tried..., Anything>();
  } else {
    return sizeof...(Tried);
  }
}

template <class... Fields>
std::tuple<std::remove_cvref_t<Fields>...> values(std::tuple<Fields...>);

}  // namespace detail

/// Returns references to the fields of an aggregate of at most 24, in their order.
template <class T>
auto fields_of(T& value) {
  constexpr auto kCount = detail::count_fields<std::remove_const_t<T>>();
#define TIDEMARK_FIELDS(count, ...)     \
  else if constexpr (kCount == count) { \
    auto& [__VA_ARGS__] = value;        \
    return std::tie(__VA_ARGS__);       \
  }
  if constexpr (kCount == 0) {
    return std::tuple<>();
  }
  TIDEMARK_FIELDS(1, a)
  TIDEMARK_FIELDS(2, a, b)
  TIDEMARK_FIELDS(3, a, b, c)
  TIDEMARK_FIELDS(4, a, b, c, d)
  TIDEMARK_FIELDS(5, a, b, c, d, e)
  TIDEMARK_FIELDS(6, a, b, c, d, e, f)
  TIDEMARK_FIELDS(7, a, b, c, d, e, f, g)
  TIDEMARK_FIELDS(8, a, b, c, d, e, f, g, h)
  TIDEMARK_FIELDS(9, a, b, c, d, e, f, g, h, i)
  TIDEMARK_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  TIDEMARK_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  TIDEMARK_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  TIDEMARK_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  TIDEMARK_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  TIDEMARK_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  TIDEMARK_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  TIDEMARK_FIELDS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  TIDEMARK_FIELDS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  TIDEMARK_FIELDS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  TIDEMARK_FIELDS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  TIDEMARK_FIELDS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  TIDEMARK_FIELDS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  TIDEMARK_FIELDS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  TIDEMARK_FIELDS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
#undef TIDEMARK_FIELDS
}

template <class First, class Second>
auto fields_of(std::pair<First, Second>& pair) {
  return std::tie(pair.first, pair.second);
}
template <class First, class Second>
auto fields_of(const std::pair<First, Second>& pair) {
  return std::tie(pair.first, pair.second);
}

/// The values of the fields as a tuple, used for its type alone.
template <class T>
using FieldValues = decltype(detail::values(fields_of(std::declval<T&>())));

}  // namespace tidemark::wire
