// The operations of the queue protocol, one function each; queue_routes.cpp maps requests to them.
#pragma once
#include "queue_service/rest/queue_call.h"

namespace tidemark::queue_service::rest::operations {

Answer list_queues(Call& call);
Answer get_service_properties(Call& call);
Answer set_service_properties(Call& call);
Answer get_delegation_key(Call& call);
Answer get_stats(Call& call);
Answer create_queue(Call& call);
Answer delete_queue(Call& call);
Answer get_metadata(Call& call);
Answer set_metadata(Call& call);
Answer get_acl(Call& call);
Answer set_acl(Call& call);
Answer put_message(Call& call);
Answer get_messages(Call& call);
Answer peek_messages(Call& call);
Answer update_message(Call& call);
Answer delete_message(Call& call);
Answer clear_messages(Call& call);

}  // namespace tidemark::queue_service::rest::operations
