// The XML bodies of the three services; the first byte says whose. What is accepted is rendered and read again.
#include "blob_store/rest/blob_xml.h"
#include "common/protocol/service_properties.h"
#include "queue_service/rest/queue_xml.h"
#include "table_store/rest/table_xml.h"
#include "tests/fuzz/fuzz.h"

// Rendering taken messages is in the same file as the parsers but not under test; this part of it needs all of HTTP.
namespace tidemark::queue_service::rest {
[[gnu::weak]] std::string lease_token(const Message& message);
std::string lease_token(const Message&) { return {}; }
}  // namespace tidemark::queue_service::rest

namespace {

using namespace tidemark;

void table_acl(std::string_view xml) {
  const auto acl = table_store::parse_acl_xml(xml);
  if (!acl) return;
  fuzz::require(acl->size() <= 5, "at most five policies");
  const auto again = table_store::parse_acl_xml(table_store::acl_xml(*acl));
  fuzz::require(again && again->size() == acl->size(), "a rendered table ACL is one");
}

void queue_acl(std::string_view xml) {
  const auto acl = queue_service::rest::read_acl(xml);
  if (!acl) return;
  fuzz::require(acl->size() <= 5, "at most five policies");
  const auto again = queue_service::rest::read_acl(queue_service::rest::render_acl(*acl));
  fuzz::require(again && again->size() == acl->size(), "a rendered queue ACL is one");
}

void queue_message(std::string_view xml) {
  const auto text = queue_service::rest::read_message_text(xml);
  if (!text) return;
  std::string document = "<QueueMessage>";
  queue_service::rest::append_element(document, "MessageText", *text);
  const auto again = queue_service::rest::read_message_text(document + "</QueueMessage>");
  fuzz::require(again && *again == *text, "a message's text survives XML");
}

void blob_lists(std::string_view xml) {
  (void)blob_store::parse_block_list(std::string(xml));
  const auto policies = blob_store::parse_access_policies(std::string(xml));
  if (!policies) return;
  const auto again = blob_store::parse_access_policies(blob_store::render_access_policies(*policies));
  fuzz::require(again && again->size() == policies->size(), "rendered access policies are some");
}

void properties(protocol::StoreKind store, std::string_view xml) {
  const auto first = protocol::merge_service_properties(store, "", xml);
  if (!first) return;
  const auto again = protocol::parse_service_properties(store, *first);
  fuzz::require(again.has_value(), "what is kept can be read");
  fuzz::require(protocol::render_service_properties(store, *again) == *first, "what is kept stays as it is");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const auto xml = fuzz::text_of(bytes + 1, size - 1);
  switch (bytes[0]) {
    case 't':
      table_acl(xml);
      break;
    case 'q':
      queue_acl(xml);
      break;
    case 'm':
      queue_message(xml);
      break;
    case 'b':
      blob_lists(xml);
      break;
    case 'p':
      properties(protocol::StoreKind::kTable, xml);
      break;
    case 'P':
      properties(protocol::StoreKind::kBlob, xml);
      break;
    default:
      break;
  }
  return 0;
}
