// Stored access policies: their XML, their limits, their row.
#include "common/protocol/stored_policies.h"

#include <gtest/gtest.h>

#include "common/base/record.h"
#include "common/base/xml_text.h"
#include "common/protocol/xml.h"

namespace tidemark::protocol {
namespace {

std::string list(const std::string& identifiers) {
  return "<SignedIdentifiers>" + identifiers + "</SignedIdentifiers>";
}

std::string identifier(const std::string& id, const std::string& terms) {
  return "<SignedIdentifier><Id>" + id + "</Id>" + terms + "</SignedIdentifier>";
}

std::string terms(const std::string& inner) { return "<AccessPolicy>" + inner + "</AccessPolicy>"; }

TEST(StoredPolicies, RoundTrip) {
  const auto bare = identifier("bare", "");
  const auto xml =
      list(identifier("a&amp;b", terms("<Start>2024-01-01T00:00:00Z</Start><Permission>raup</Permission>")) + bare);
  const auto policies = parse_stored_policies(xml, "raup");
  ASSERT_TRUE(policies);
  ASSERT_EQ(policies->size(), 2U);
  EXPECT_EQ(policies->at(0).id, "a&b");
  EXPECT_EQ(policies->at(0).permission, "raup");
  EXPECT_FALSE(policies->at(0).expiry);
  const auto rendered = render_stored_policies(*policies);
  EXPECT_EQ(rendered, list(identifier("a&amp;b", terms("<Start>2024-01-01T00:00:00.0000000Z</Start>"
                                                       "<Permission>raup</Permission>")) +
                           bare));
  std::string row;
  RecordWriter out(row);
  policy_fields(out, *policies);
  RecordReader in(row);
  StoredPolicies read;
  policy_fields(in, read);
  EXPECT_TRUE(in.bytes.finished());
  EXPECT_EQ(render_stored_policies(read), rendered);
  EXPECT_EQ(find_policy(read, "bare")->id, "bare");
  EXPECT_FALSE(find_policy(read, "BARE"));
}

TEST(StoredPolicies, NoneAndWhatIsNoDocument) {
  EXPECT_TRUE(parse_stored_policies("", "r")->empty());
  EXPECT_TRUE(parse_stored_policies("<SignedIdentifiers />", "r")->empty());
  EXPECT_EQ(render_stored_policies({}), "<SignedIdentifiers />");
  for (const auto* xml : {"x", "<SignedIdentifiers>", "<Other/>", "<!DOCTYPE a><SignedIdentifiers/>"}) {
    EXPECT_TRUE(parse_stored_policies(xml, "r").failed_with(ErrorCode::kInvalidXmlDocument)) << xml;
  }
}

TEST(StoredPolicies, Limits) {
  std::string some;
  for (std::size_t i = 0; i < kMaxStoredPolicies; ++i) some += identifier(std::to_string(i), "");
  EXPECT_EQ(parse_stored_policies(list(some), "r")->size(), kMaxStoredPolicies);
  EXPECT_TRUE(parse_stored_policies(list(some + identifier("x", "")), "r").failed_with(ErrorCode::kInvalidXmlDocument));
  EXPECT_TRUE(parse_stored_policies(list(identifier(std::string(64, 'i'), "")), "r"));
}

TEST(StoredPolicies, NamesTheElementThatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {identifier("", ""), "Id"},
      {identifier(std::string(65, 'i'), ""), "Id"},
      {identifier("x", "") + identifier("x", ""), "Id"},
      {identifier("x", terms("<Start>soon</Start>")), "Start"},
      {identifier("x", terms("<Expiry>2024-13-01</Expiry>")), "Expiry"},
      {identifier("x", terms("<Permission>rq</Permission>")), "Permission"},
  };
  for (const auto& [xml, element] : cases) {
    const auto refused = parse_stored_policies(list(xml), "raud");
    ASSERT_TRUE(refused.failed_with(ErrorCode::kInvalidXmlNodeValue)) << xml;
    EXPECT_EQ(refused.error().fields.at(0).second, element);
  }
}

TEST(Xml, EscapesWhatItCannotCarry) {
  std::string escaped;
  append_escaped(escaped, "a<b>&\"c\"\r\n\t\x01 \xC3\xA9 \uFFFE\uFFFF \uFF21\uFFFD \xEF");
  EXPECT_EQ(escaped, "a&lt;b&gt;&amp;&quot;c&quot;&#xD;\n\t\uFFFD \xC3\xA9 \uFFFD\uFFFD \uFF21\uFFFD \xEF");
  EXPECT_TRUE(is_xml_text("\xC3\xA9\t"));
  for (const auto* text : {"\x01", "\xFF", "\xEF\xBF\xBE"}) EXPECT_FALSE(is_xml_text(text));
}

TEST(Xml, JsonIsWrittenSoThatXmlCanCarryIt) {
  EXPECT_EQ(json_as_xml_text("{\"\uFFFE\uFF21\":\"a\uFFFF\uFFFD\"}"), "{\"\\ufffe\uFF21\":\"a\\uffff\uFFFD\"}");
  EXPECT_EQ(json_as_xml_text("\uFFFF"), "\\uffff");
  EXPECT_EQ(json_as_xml_text(""), "");
}

TEST(Xml, WriterClosesWhatItOpened) {
  XmlWriter out;
  out.begin("List").attribute("At", "a\"b").begin("Item").element("Name", "x<y").element("Empty", "");
  out.element("Size", 7).element("Done", false).optional_element("Absent", "").end();
  out.begin("Nothing").end().begin("Last").begin("Inner").text("t");
  EXPECT_EQ(out.take(), std::string(kXmlDeclaration) +
                            "<List At=\"a&quot;b\"><Item><Name>x&lt;y</Name><Empty /><Size>7</Size><Done>false</Done>"
                            "</Item><Nothing /><Last><Inner>t</Inner></Last></List>");
  EXPECT_EQ(XmlWriter("").begin("Empty").take(), "<Empty />");
}

TEST(Xml, BytesThatAreNoTextAreReadAsLatin1) {
  EXPECT_EQ(as_xml_text("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(as_xml_text("caf\xE9"), "caf\xC3\xA9");
}

}  // namespace
}  // namespace tidemark::protocol
