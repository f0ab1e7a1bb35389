// A store's service properties: a document for each account, whose content the store does not interpret. Thread safe;
// coroutines resume on the caller's executor.
//   document   key: a byte of the store, text(account)     value: canonical XML
#pragma once
#include "common/kv/engine.h"

namespace tidemark::kv {

/// A part of each store's service.
class AccountProperties {
 public:
  /// `kind` begins the keys; `step` names a change, for crash tests.
  AccountProperties(Engine& engine, char kind, const FailStep& step) : engine_(engine), kind_(kind), step_(step) {}

  /// Returns an empty text if the properties were never set.
  [[nodiscard]] Result<std::string> get_service_properties(std::string_view account) const;
  /// Replaces the document by the text that `change` makes from the stored one, in the transaction.
  using Change = std::function<Result<std::string>(const std::string& stored)>;
  Task<Result<void>> set_service_properties(std::string account, Change change) const;

 private:
  Engine& engine_;
  char kind_;
  const FailStep& step_;
};

}  // namespace tidemark::kv
