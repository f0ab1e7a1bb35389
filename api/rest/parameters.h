// The query parameters of a request, each once and in the right form; anything else is reported as a problem.
// described_parameters.h knows the parameters of each operation. Pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/http/http.h"
#include "jobs/spec/job_spec.h"

namespace tidemark::api {

class Parameters {
 public:
  /// kInvalidQueryParameterValue: broken escapes, a name twice.
  static Result<Parameters> read(const http::Request& request);

  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(std::string_view name) const;  // empty if absent
  /// kOutOfRangeQueryParameterValue unless 1..1000; 100 if absent.
  [[nodiscard]] Result<std::uint32_t> limit() const;
  [[nodiscard]] Result<bool> flag(std::string_view name) const;
  /// A whole number; nothing if absent. kOutOfRangeQueryParameterValue.
  [[nodiscard]] Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t min,
                                                           std::int64_t max) const;
  /// kind, source, fingerprint, movedAfter, movedBefore.
  [[nodiscard]] Result<jobs::PoisonFilter> poison_filter() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace tidemark::api
