// The XML bodies of the three services; the first byte tells which document it is. An accepted body is rendered and
// read again.
#include "common/protocol/xml.h"
#include "blob_store/rest/blob_xml.h"
#include "common/protocol/service_properties.h"
#include "common/protocol/stored_policies.h"
#include "queue_service/rest/queue_xml.h"
#include "tests/fuzz/fuzz.h"

// Rendering taken messages is in the same file as the parsers but not under test; this function needs all of HTTP.
namespace tidemark::queue_service::rest {
[[gnu::weak]] std::string lease_token(const Message& message);
std::string lease_token(const Message&) { return {}; }
}  // namespace tidemark::queue_service::rest

namespace {

using namespace tidemark;

void stored_policies(std::string_view xml) {
  constexpr std::string_view kLetters = "raud";
  const auto policies = protocol::parse_stored_policies(xml, kLetters);
  if (!policies) return;
  fuzz::require(policies->size() <= protocol::kMaxStoredPolicies, "at most five policies");
  const auto again = protocol::parse_stored_policies(protocol::render_stored_policies(*policies), kLetters);
  fuzz::require(again && again->size() == policies->size(), "rendered policies are some");
}

void queue_message(std::string_view xml) {
  const auto text = queue_service::rest::read_message_text(xml);
  if (!text) return;
  protocol::XmlWriter document;
  document.begin("QueueMessage").element("MessageText", *text);
  const auto again = queue_service::rest::read_message_text(document.take());
  fuzz::require(again && *again == *text, "a message's text survives XML");
}

void tags(std::string_view xml) {
  const auto read = blob_store::parse_tags(xml);
  if (!read) return;
  protocol::XmlWriter document;
  blob_store::write_tags(document, *read);
  const auto again = blob_store::parse_tags(document.take());
  fuzz::require(again && *again == *read, "tags survive XML");
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
      stored_policies(xml);
      break;
    case 'm':
      queue_message(xml);
      break;
    case 'b':
      (void)blob_store::parse_block_list(std::string(xml));
      break;
    case 'T':
      tags(xml);
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
