#include <gmock/gmock.h>

#include "common/protocol/service_properties.h"

namespace tidemark::protocol {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kTable = StoreKind::kTable;
constexpr std::string_view kFresh =
    R"(<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>)"
    "<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>"
    "<HourMetrics><Version>1.0</Version><Enabled>false</Enabled>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics>"
    "<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>"
    "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors";

std::string wrap(const std::string& sections) {
  return "<StorageServiceProperties>" + sections + "</StorageServiceProperties>";
}

std::string rule(const std::string& origins, const std::string& methods = "GET", const std::string& allowed = "",
                 const std::string& exposed = "", const std::string& age = "0") {
  return "<CorsRule><AllowedOrigins>" + origins + "</AllowedOrigins><AllowedMethods>" + methods +
         "</AllowedMethods><AllowedHeaders>" + allowed + "</AllowedHeaders><ExposedHeaders>" + exposed +
         "</ExposedHeaders><MaxAgeInSeconds>" + age + "</MaxAgeInSeconds></CorsRule>";
}

std::string cors(const std::string& rules) { return wrap("<Cors>" + rules + "</Cors>"); }

std::string metrics(const std::string& days) {
  return wrap(
      "<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
      "<RetentionPolicy><Enabled>true</Enabled><Days>" +
      days + "</Days></RetentionPolicy></MinuteMetrics>");
}

ErrorCode failure(const std::string& body, StoreKind store = kTable) {
  auto merged = merge_service_properties(store, "", body);
  return merged ? ErrorCode::kInternalError : merged.error().code;
}

std::string repeat(const std::string& item, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + item + std::to_string(i);
  return out;
}

TEST(ServiceProperties, FreshAccountHasEverySection) {
  EXPECT_THAT(service_properties_document(kTable, ""), testing::StartsWith(std::string(kFresh)));
  EXPECT_THAT(service_properties_document(kTable, ""), Not(HasSubstr("StaticWebsite")));
  const auto blob = service_properties_document(StoreKind::kBlob, "");
  EXPECT_THAT(blob, HasSubstr("<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>"));
  EXPECT_THAT(blob, HasSubstr("<StaticWebsite><Enabled>false</Enabled></StaticWebsite>"));
}

TEST(ServiceProperties, PutKeepsSectionsThatItLeavesOut) {
  auto first = merge_service_properties(
      kTable, "",
      wrap("<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>"
           "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>"));
  ASSERT_TRUE(first);
  auto second = merge_service_properties(kTable, *first, "\xEF\xBB\xBF" + cors(rule("https://a.example", "get,PUT")));
  ASSERT_TRUE(second);
  EXPECT_THAT(*second, HasSubstr("<Read>false</Read><Write>true</Write><Delete>true</Delete>"
                                 "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>"));
  EXPECT_THAT(*second, HasSubstr("<AllowedMethods>GET,PUT</AllowedMethods>"));
  auto cleared = merge_service_properties(kTable, *second, wrap("<Cors/>"));
  ASSERT_TRUE(cleared);
  EXPECT_TRUE(parse_service_properties(kTable, *cleared)->cors->empty());
  EXPECT_TRUE(parse_service_properties(kTable, *cleared)->logging->write);
}

TEST(ServiceProperties, DocumentReadsBackAsItWas) {
  ServiceProperties properties;
  properties.logging = Logging{"1.0", true, false, true, {true, 365}};
  properties.hour_metrics = Metrics{"1.0", true, true, {true, 1}};
  properties.minute_metrics = Metrics{};
  properties.cors = std::vector<CorsRule>{{{"http://a", "*"}, {"GET", "MERGE"}, {"x-ms-meta-*", "abc"}, {"*"}, 500}};
  properties.default_service_version = "2019-02-02";
  properties.delete_retention = RetentionPolicy{true, 5};
  properties.static_website = StaticWebsite{true, "index.html", "404.html", ""};
  const auto document = render_service_properties(StoreKind::kBlob, properties);
  EXPECT_EQ(*parse_service_properties(StoreKind::kBlob, document), properties);
}

TEST(ServiceProperties, BooleansHaveAnyCase) {
  for (const auto* text : {"True", "TRUE", "False"}) {
    const auto logging = wrap(std::string("<Logging><Version>1.0</Version><Read>") + text +
                              "</Read><Write>false</Write><Delete>false</Delete>"
                              "<RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging>");
    const auto merged = merge_service_properties(kTable, "", logging);
    ASSERT_TRUE(merged) << text;
    EXPECT_EQ(parse_service_properties(kTable, *merged)->logging->read, text[0] == 'T') << text;
    EXPECT_THAT(*merged, HasSubstr(text[0] == 'T' ? "<Read>true</Read>" : "<Read>false</Read>"));
  }
}

TEST(ServiceProperties, RetentionIsOneDayToAYear) {
  EXPECT_TRUE(merge_service_properties(kTable, "", metrics("1")));
  EXPECT_TRUE(merge_service_properties(kTable, "", metrics("365")));
  EXPECT_EQ(failure(metrics("0")), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(metrics("366")), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(metrics("x")), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_EQ(failure(metrics("-1")), ErrorCode::kInvalidXmlNodeValue);
}

TEST(ServiceProperties, RefusesWhatIsNoDocument) {
  EXPECT_EQ(failure(""), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure("<StorageServiceProperties>"), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure("<Other/>"), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(wrap("<Nonsense/>")), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(wrap("<Cors/><Cors/>")), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(wrap("<DefaultServiceVersion>2019-02-02</DefaultServiceVersion>")), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(wrap(std::string(kMaxServicePropertiesBytes, ' '))), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(wrap("<DefaultServiceVersion>soon</DefaultServiceVersion>"), StoreKind::kBlob),
            ErrorCode::kInvalidXmlNodeValue);
}

TEST(ServiceProperties, NamesTheElementThatIsWrong) {
  auto absent = merge_service_properties(kTable, "", wrap("<Logging><Version>1.0</Version></Logging>"));
  ASSERT_TRUE(absent.failed_with(ErrorCode::kMissingRequiredXmlNode));
  EXPECT_EQ(absent.error().fields[0].second, "Delete");
  auto wrong = merge_service_properties(kTable, "",
                                        wrap("<HourMetrics><Version>1.0</Version><Enabled>yes</Enabled>"
                                             "</HourMetrics>"));
  ASSERT_TRUE(wrong.failed_with(ErrorCode::kInvalidXmlNodeValue));
  EXPECT_EQ(wrong.error().fields[1].second, "yes");
  EXPECT_EQ(failure(wrap("<HourMetrics><Version>1.0</Version><Enabled>true</Enabled></HourMetrics>")),
            ErrorCode::kMissingRequiredXmlNode);
  EXPECT_EQ(failure(wrap("<HourMetrics><Version>9.9</Version></HourMetrics>")), ErrorCode::kInvalidXmlNodeValue);
}

TEST(ServiceProperties, RefusesTextThatWouldNotReadBackAsItIs) {
  for (const auto* character : {"&#13;", "&#1;", "\x01", "\xFF"}) {
    const auto rule = std::string(
                          "<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods>"
                          "<AllowedHeaders>a") +
                      character +
                      "b</AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds>"
                      "</CorsRule></Cors>";
    EXPECT_EQ(failure(wrap(rule)), ErrorCode::kInvalidXmlNodeValue) << character;
  }
}

TEST(ServiceProperties, FiveCorsRules) {
  std::string five;
  for (int i = 0; i < 5; ++i) five += rule("http://a");
  EXPECT_TRUE(merge_service_properties(kTable, "", cors(five)));
  EXPECT_EQ(failure(cors(five + rule("http://a"))), ErrorCode::kInvalidXmlDocument);
}

TEST(ServiceProperties, CorsListsHaveLimits) {
  const std::string longest(256, 'o');
  EXPECT_TRUE(merge_service_properties(kTable, "", cors(rule(longest))));
  EXPECT_EQ(failure(cors(rule(longest + "o"))), ErrorCode::kInvalidXmlDocument);
  EXPECT_TRUE(merge_service_properties(kTable, "", cors(rule("*", "GET", repeat("h", 64) + ",p-*,*"))));
  EXPECT_EQ(failure(cors(rule("*", "GET", repeat("h", 65)))), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(cors(rule("*", "GET", "", "a*,b*,c*"))), ErrorCode::kInvalidXmlDocument);
  EXPECT_EQ(failure(cors(rule("*", "GET", "a*b"))), ErrorCode::kInvalidXmlNodeValue);
  // 2 KiB over all rules: eight origins of 250 in two rules fit, nine do not.
  const std::string origin(250, 'o');
  auto four = origin + "," + origin + "," + origin + "," + origin;
  EXPECT_TRUE(merge_service_properties(kTable, "", cors(rule(four) + rule(four))));
  EXPECT_EQ(failure(cors(rule(four) + rule(four + "," + origin))), ErrorCode::kInvalidXmlDocument);
}

TEST(ServiceProperties, CorsRuleNeedsOriginMethodAndAge) {
  EXPECT_EQ(failure(cors(rule(""))), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_EQ(failure(cors(rule("*", ""))), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_EQ(failure(cors(rule("*", "FETCH"))), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_EQ(failure(cors(rule("*", "GET", "", "", "-1"))), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_EQ(failure(cors(rule("*", "GET", "", "", "4294967296"))), ErrorCode::kInvalidXmlNodeValue);
  EXPECT_TRUE(merge_service_properties(kTable, "", cors(rule("*", "GET", "", "", "2147483647"))));
  EXPECT_EQ(failure(cors("<CorsRule><AllowedOrigins>*</AllowedOrigins></CorsRule>")),
            ErrorCode::kMissingRequiredXmlNode);
}

TEST(ServiceProperties, TextIsEscaped) {
  auto merged = merge_service_properties(kTable, "", cors(rule("http://a&amp;b&lt;c")));
  ASSERT_TRUE(merged);
  EXPECT_EQ(parse_service_properties(kTable, *merged)->cors->at(0).origins[0], "http://a&b<c");
}

}  // namespace
}  // namespace tidemark::protocol
