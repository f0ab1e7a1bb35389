#include "blob_store/model/blob.h"

#include <fmt/format.h>

namespace tidemark::blob_store {
namespace {
constexpr std::int64_t kTicksFromYear1To1970 = 621'355'968'000'000'000;
}

Time Stamp::time() const { return Time(Ticks(static_cast<std::int64_t>(ticks) - kTicksFromYear1To1970)); }
std::string Stamp::etag() const { return fmt::format("0x{:015X}", ticks); }
Stamp Stamp::at(Time time) {
  return {static_cast<std::uint64_t>(time.time_since_epoch().count() + kTicksFromYear1To1970)};
}

}  // namespace tidemark::blob_store
