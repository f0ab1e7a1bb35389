#include "common/service/maintenance.h"

#include "common/rpc/call.h"

namespace tidemark::service {
namespace {

using Face = rpc::Face<Maintenance>;

Result<DataIdentity> identify(Maintenance& store, const calls::Identify&) { return store.identity(); }
Result<std::uint64_t> begin_check(Maintenance& store, const calls::BeginCheck&) { return store.check().begin(); }
Result<CheckState> check_state(Maintenance& store, const calls::ReadCheckState&) { return store.check().state(); }

template <class Call, auto member>
auto of_backup(Maintenance& store, Call call) {
  return (store.backup().*member)(std::move(call));
}

constexpr Face::Handler kHandlers[] = {
    Face::on<calls::Identify, &identify>(),
    Face::on<calls::BeginBackup, &of_backup<calls::BeginBackup, &StoreBackup::begin>>(),
    Face::on<calls::HoldWrites, &of_backup<calls::HoldWrites, &StoreBackup::hold>>(),
    Face::on<calls::CutBackup, &of_backup<calls::CutBackup, &StoreBackup::cut>>(),
    Face::on<calls::CopyBackup, &of_backup<calls::CopyBackup, &StoreBackup::copy>>(),
    Face::on<calls::ReadCopyState, &of_backup<calls::ReadCopyState, &StoreBackup::state>>(),
    Face::on<calls::EndBackup, &of_backup<calls::EndBackup, &StoreBackup::end>>(),
    Face::on<calls::BeginCheck, &begin_check>(),
    Face::on<calls::ReadCheckState, &check_state>(),
};

}  // namespace

rpc::Dispatch Maintenance::beside(rpc::Dispatch store) {
  return [own = rpc::make_dispatch(*this, kHandlers), store = std::move(store)](const std::string& method,
                                                                                std::string payload) {
    return method.starts_with("maintenance.") ? own(method, std::move(payload)) : store(method, std::move(payload));
  };
}

}  // namespace tidemark::service
