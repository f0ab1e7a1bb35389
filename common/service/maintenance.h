// Answers a store's calls for backups and checks (maintenance_calls.h), beside its own calls.
#pragma once
#include "common/rpc/transport.h"
#include "common/service/store_backup.h"
#include "common/service/store_check.h"

namespace tidemark::service {

class Maintenance {
 public:
  Maintenance(DataIdentity identity, StoreBackup& backup, StoreCheck& check)
      : identity_(std::move(identity)), backup_(backup), check_(check) {}
  /// Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

  [[nodiscard]] const DataIdentity& identity() const { return identity_; }
  [[nodiscard]] StoreBackup& backup() { return backup_; }
  [[nodiscard]] StoreCheck& check() { return check_; }

 private:
  DataIdentity identity_;
  StoreBackup& backup_;
  StoreCheck& check_;
};

}  // namespace tidemark::service
