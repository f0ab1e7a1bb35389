#include "common/kv/account_properties.h"

#include "common/kv/key_codec.h"

namespace tidemark::kv {

Result<std::string> AccountProperties::get_service_properties(std::string_view account) const {
  return TRY(engine_.snapshot()->get(key(kind_, Text{account}))).value_or("");
}

Task<Result<void>> AccountProperties::set_service_properties(std::string account, Change change) const {
  co_return co_await engine_.transact(
      [&](Transaction& txn) -> Result<void> {
        const auto row = key(kind_, Text{account});
        const auto stored = TRY(txn.get(row)).value_or("");
        txn.put(row, TRY(change(stored)));
        return {};
      },
      &step_);
}

}  // namespace tidemark::kv
