// The operations of the queue protocol, one function each; see queue_routes.cpp for which request is which.
#pragma once
#include "queue_service/rest/queue_routes.h"

namespace tidemark::queue_service::rest::operations {

Task<Answer> list_queues(OperationContext context);
Task<Answer> get_service_properties(OperationContext context);
Task<Answer> set_service_properties(OperationContext context);
Task<Answer> get_stats(OperationContext context);
Task<Answer> create_queue(OperationContext context);
Task<Answer> delete_queue(OperationContext context);
Task<Answer> get_metadata(OperationContext context);
Task<Answer> set_metadata(OperationContext context);
Task<Answer> get_acl(OperationContext context);
Task<Answer> set_acl(OperationContext context);
Task<Answer> put_message(OperationContext context);
Task<Answer> get_messages(OperationContext context);
Task<Answer> peek_messages(OperationContext context);
Task<Answer> update_message(OperationContext context);
Task<Answer> delete_message(OperationContext context);
Task<Answer> clear_messages(OperationContext context);

}  // namespace tidemark::queue_service::rest::operations
