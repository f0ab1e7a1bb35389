#include "common/service/maintenance.h"

#include "common/rpc/call.h"

namespace tidemark::service {
namespace {

using MaintenanceFace = rpc::Face<Maintenance>;

Result<DataIdentity> identify(Maintenance& store, const calls::Identify&) { return store.identity(); }
Result<std::uint64_t> begin_check(Maintenance& store, const calls::BeginCheck&) { return store.check().begin(); }
Result<CheckState> check_state(Maintenance& store, const calls::ReadCheckState&) { return store.check().state(); }

template <class Call, auto member>
auto of_backup(Maintenance& store, Call call) {
  return (store.backup().*member)(std::move(call));
}

constexpr MaintenanceFace::Handler kMaintenanceHandlers[] = {
    MaintenanceFace::on<calls::Identify, &identify>(),
    MaintenanceFace::on<calls::BeginBackup, &of_backup<calls::BeginBackup, &StoreBackup::begin>>(),
    MaintenanceFace::on<calls::HoldWrites, &of_backup<calls::HoldWrites, &StoreBackup::hold>>(),
    MaintenanceFace::on<calls::CutBackup, &of_backup<calls::CutBackup, &StoreBackup::cut>>(),
    MaintenanceFace::on<calls::CopyBackup, &of_backup<calls::CopyBackup, &StoreBackup::copy>>(),
    MaintenanceFace::on<calls::ReadCopyState, &of_backup<calls::ReadCopyState, &StoreBackup::state>>(),
    MaintenanceFace::on<calls::EndBackup, &of_backup<calls::EndBackup, &StoreBackup::end>>(),
    MaintenanceFace::on<calls::BeginCheck, &begin_check>(),
    MaintenanceFace::on<calls::ReadCheckState, &check_state>(),
};

}  // namespace

rpc::Dispatch Maintenance::beside(rpc::Dispatch store) {
  return rpc::make_dispatch(*this, kMaintenanceHandlers, std::move(store));
}

}  // namespace tidemark::service
