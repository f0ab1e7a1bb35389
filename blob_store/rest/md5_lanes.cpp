#include "blob_store/rest/md5_lanes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMd5Lanes = 16;
constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kFewest = 3;  // from this number of contents on, lanes are faster than one after the other

using Word = std::uint32_t;
using Words = Word __attribute__((vector_size(kMd5Lanes * sizeof(Word))));  // the same word of all lanes
using Block = std::array<Words, kBlockBytes / sizeof(Word)>;
static_assert(sizeof(Words) == kBlockBytes && std::tuple_size_v<Block> == kMd5Lanes);

struct State {
  Words a, b, c, d;
};

// The names and numbers are those of RFC 1321.
constexpr std::array<std::array<int, 4>, 4> kShifts = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
using Sines = std::array<Word, 64>;
const Sines kSines = [] {
  Sines sines{};
  for (std::size_t i = 0; i < sines.size(); ++i) {
    sines[i] = static_cast<Word>(std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
  }
  return sines;
}();

// Functions that are always inlined are compiled for the processor of their caller.

/// Swaps the elements of two rows across the diagonal of each square of twice this width.
template <std::size_t Width, std::size_t... Lane>
[[gnu::always_inline]] inline void exchange(Words& upper, Words& lower, std::index_sequence<Lane...>) {
  const Words above = upper;
  const Words below = lower;
  upper = __builtin_shufflevector(above, below, ((Lane & Width) == 0 ? Lane : Lane - Width + kMd5Lanes)...);
  lower = __builtin_shufflevector(above, below, ((Lane & Width) == 0 ? Lane + Width : Lane + kMd5Lanes)...);
}

template <std::size_t Width>
[[gnu::always_inline]] inline void exchange_all(Block& block) {
  for (std::size_t row = 0; row < kMd5Lanes; ++row) {
    if ((row & Width) == 0) exchange<Width>(block[row], block[row + Width], std::make_index_sequence<kMd5Lanes>());
  }
}

/// Turns rows, one for each lane, into words of all lanes.
[[gnu::always_inline]] inline void transpose(Block& block) {
  exchange_all<1>(block);
  exchange_all<2>(block);
  exchange_all<4>(block);
  exchange_all<8>(block);
}

template <std::size_t Step>
[[gnu::always_inline]] inline void step(State& s, const Block& block) {
  constexpr auto kRound = Step / 16;
  constexpr std::array<std::size_t, 4> kWords = {Step, 5 * Step + 1, 3 * Step + 5, 7 * Step};
  constexpr auto kShift = kShifts[kRound][Step % 4];
  Words mixed;
  if constexpr (kRound == 0) mixed = (s.b & s.c) | (~s.b & s.d);
  if constexpr (kRound == 1) mixed = (s.b & s.d) | (s.c & ~s.d);
  if constexpr (kRound == 2) mixed = s.b ^ s.c ^ s.d;
  if constexpr (kRound == 3) mixed = s.c ^ (s.b | ~s.d);
  const Words sum = s.a + mixed + block[kWords[kRound] % 16] + kSines[Step];
  const Words turned = (sum << kShift) | (sum >> (32 - kShift));
  s = {s.d, s.b + turned, s.b, s.c};
}

template <std::size_t... Step>
[[gnu::always_inline]] inline void all_steps(State& s, const Block& block, std::index_sequence<Step...>) {
  (step<Step>(s, block), ...);
}

using Places = std::array<const char*, kMd5Lanes>;

[[gnu::always_inline]] inline void add_blocks(State& state, const Places& places, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    Block block;
    for (std::size_t lane = 0; lane < kMd5Lanes; ++lane) {
      std::memcpy(&block[lane], places[lane] + n * kBlockBytes, kBlockBytes);
    }
    transpose(block);
    auto next = state;
    all_steps(next, block, std::make_index_sequence<64>());
    state.a += next.a;
    state.b += next.b;
    state.c += next.c;
    state.d += next.d;
  }
}

#ifdef __x86_64__
__attribute__((target("avx512f,avx512vl"))) void add_by_avx512(State& state, const Places& places, std::size_t count) {
  add_blocks(state, places, count);
}
__attribute__((target("avx2"))) void add_by_avx2(State& state, const Places& places, std::size_t count) {
  add_blocks(state, places, count);
}
#endif
void add_by_any(State& state, const Places& places, std::size_t count) { add_blocks(state, places, count); }

using Add = void (*)(State&, const Places&, std::size_t);
Add fastest_add() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return &add_by_avx512;
  if (__builtin_cpu_supports("avx2")) return &add_by_avx2;
#endif
  return &add_by_any;
}

/// The rest of a content in its lane: its whole blocks, then the last ones with the padding.
class Lane {
 public:
  explicit Lane(std::string_view content) : at_(content.data()), blocks_(content.size() / kBlockBytes) {
    const auto rest = content.substr(blocks_ * kBlockBytes);
    std::ranges::copy(rest, last_.begin());
    last_[rest.size()] = '\x80';
    constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
    last_blocks_ = (rest.size() + 1 + kLengthBytes + kBlockBytes - 1) / kBlockBytes;
    const std::uint64_t bits = 8 * static_cast<std::uint64_t>(content.size());
    std::memcpy(last_.data() + last_blocks_ * kBlockBytes - kLengthBytes, &bits, kLengthBytes);
  }
  [[nodiscard]] const char* at() const { return blocks_ > 0 ? at_ : last_.data() + last_at_; }
  /// Returns the number of consecutive blocks at this place; 0 at the end.
  [[nodiscard]] std::size_t blocks() const { return blocks_ > 0 ? blocks_ : last_blocks_; }
  void move_on(std::size_t blocks) {
    if (blocks_ > 0) {
      at_ += blocks * kBlockBytes;
      blocks_ -= blocks;
    } else {
      last_at_ += blocks * kBlockBytes;
      last_blocks_ -= blocks;
    }
  }

 private:
  const char* at_;
  std::size_t blocks_;
  std::array<char, 2 * kBlockBytes> last_{};
  std::size_t last_at_ = 0;
  std::size_t last_blocks_ = 0;
};

std::string sum_in(const State& state, std::size_t lane) {
  const std::array<Word, 4> words = {state.a[lane], state.b[lane], state.c[lane], state.d[lane]};
  return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

/// Takes at most as many contents as there are lanes, and as long as the longest of them needs.
std::vector<std::string> sums_in_lanes(std::span<const std::string_view> contents) {
  static const Add add = fastest_add();
  std::vector<Lane> lanes(contents.begin(), contents.end());
  std::vector<std::string> sums(contents.size());
  State state{Words{} + 0x67452301U, Words{} + 0xEFCDAB89U, Words{} + 0x98BADCFEU, Words{} + 0x10325476U};
  while (true) {
    const Lane* shortest = nullptr;
    for (const auto& lane : lanes) {
      if (lane.blocks() > 0 && (shortest == nullptr || lane.blocks() < shortest->blocks())) shortest = &lane;
    }
    if (shortest == nullptr) return sums;
    const auto count = shortest->blocks();
    Places places;
    places.fill(shortest->at());  // idle lanes repeat the work of this one
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i].blocks() > 0) places[i] = lanes[i].at();
    }
    add(state, places, count);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i].blocks() == 0) continue;
      lanes[i].move_on(count);
      if (lanes[i].blocks() == 0) sums[i] = sum_in(state, i);
    }
  }
}

}  // namespace

std::vector<std::string> md5_of_all(const std::vector<std::string_view>& contents) {
  std::vector<std::size_t> order(contents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::ranges::greater(), [&](std::size_t i) { return contents[i].size(); });
  std::vector<std::string> sums(contents.size());
  for (std::size_t first = 0, next = 0; first < order.size(); first = next) {
    // No content is much shorter than the longest, so few lanes are idle.
    std::vector<std::string_view> together;
    for (; next < order.size() && together.size() < kMd5Lanes; ++next) {
      if (2 * contents[order[next]].size() < contents[order[first]].size()) break;
      together.push_back(contents[order[next]]);
    }
    std::vector<std::string> found;
    if (together.size() >= kFewest) {
      found = sums_in_lanes(together);
    } else {
      std::ranges::transform(together, std::back_inserter(found),
                             [](std::string_view content) { return md5(content); });
    }
    for (std::size_t i = 0; i < found.size(); ++i) sums[order[first + i]] = std::move(found[i]);
  }
  return sums;
}

}  // namespace tidemark::blob_store
