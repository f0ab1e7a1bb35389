// Operations on tables: list, get, create, delete, access policies.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Serve GET and POST Tables.
Answer list_tables(Call& call);
Answer create_table(Call& call);
/// Serve GET and DELETE Tables('t').
Answer get_table(Call& call);
Answer delete_table(Call& call);
/// Serve GET and PUT t?comp=acl.
Answer get_acl(Call& call);
Answer set_acl(Call& call);

}  // namespace tidemark::table_store
