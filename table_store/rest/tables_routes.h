// Operations on tables: list, get, create, delete, access policies.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Serves GET and POST Tables; GET and DELETE Tables('t').
Answer serve_tables(Call& call);
/// Serves GET and PUT t?comp=acl.
Answer serve_acl(Call& call);

}  // namespace tidemark::table_store
