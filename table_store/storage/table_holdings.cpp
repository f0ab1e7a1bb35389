#include "table_store/storage/table_holdings.h"

#include "table_store/model/limits.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {

Result<void> each_table(const kv::Reader& rows, const std::string& account,
                        const std::function<Result<void>(std::span<const kv::KeyRange>)>& each) {
  const auto tables = rows.scan(tables_range(account, ""));
  for (; tables->valid(); tables->next()) {
    const auto table = TRY(kTableRecord.decode(tables->value()));
    if (is_metrics_table(table.name)) continue;
    const auto entities = entities_of(table.generation);
    TRY(each({&entities, 1}));
  }
  return tables->status();
}

}  // namespace tidemark::table_store
