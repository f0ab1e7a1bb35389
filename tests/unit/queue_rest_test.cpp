// Bodies of the public protocol, without a socket.
#include "common/protocol/protocol_errors.h"
#include "queue_service/rest/queue_xml.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service::rest {
namespace {

std::string message(std::string_view escaped) {
  return "<QueueMessage><MessageText>" + std::string(escaped) + "</MessageText></QueueMessage>";
}

TEST(QueueXml, KeepsTextExactly) {
  EXPECT_EQ(read_message_text(message("  a \n\t b ")).value(), "  a \n\t b ");
  EXPECT_EQ(read_message_text(message(" a \n")).value(), " a \n");  // SDKs may strip it; the service must not
  EXPECT_EQ(read_message_text(message(" ")).value(), " ");
  EXPECT_EQ(read_message_text(message("")).value(), "");
  EXPECT_EQ(read_message_text("<QueueMessage><MessageText/></QueueMessage>").value(), "");
  EXPECT_EQ(read_message_text(message("a&#13;b&#xD;\r\nc")).value(), "a\rb\r\nc");
  EXPECT_EQ(read_message_text(message("&lt;b&gt; &amp; \xC3\xA9")).value(), "<b> & \xC3\xA9");
  EXPECT_EQ(read_message_text(message("x<![CDATA[<&y>]]>z")).value(), "x<&y>z");
  EXPECT_EQ(read_message_text(message("x<!-- <&y> -->y<?p <&y> ?>z")).value(), "xyz");
  EXPECT_EQ(read_message_text("\xEF\xBB\xBF<?xml version='1.0' encoding='utf-8'?>\n" + message("a")).value(), "a");
}

TEST(QueueXml, RefusesWhatXmlForbids) {
  const std::string deep(100'000, '<');
  for (const auto& body : {message("\x01"),
                           message("&#0;"),
                           message("&#1;"),
                           message("&#xD800;"),
                           message("&nope;"),
                           message("a & b"),
                           message("\xFF"),
                           message("\xEF\xBF\xBE"),
                           message("<b/>"),
                           std::string(""),
                           std::string("<QueueMessage>"),
                           std::string("text"),
                           deep,
                           message("a") + message("b"),
                           "x" + message("a"),
                           message("a") + "x",
                           message("&amp;") + "x",
                           message("&amp;") + message("b"),
                           message("<?p <![CDATA[?>&#1;]]>"),
                           message("<!--<![CDATA[-->&#1;]]>"),
                           std::string("<QueueMessage a='<![CDATA['><MessageText>&#1;]]></MessageText></QueueMessage>"),
                           std::string("<!DOCTYPE a [<!ENTITY b 'c'>]>") + message("&b;")}) {
    EXPECT_TRUE(read_message_text(body).failed_with(ErrorCode::kInvalidXmlDocument)) << body.substr(0, 80);
  }
  EXPECT_TRUE(read_message_text("<QueueMessage/>").failed_with(ErrorCode::kMissingRequiredXmlNode));
}

TEST(QueueRequest, ChecksRanges) {
  using protocol::number_parameter;
  auto wrong = number_parameter("numofmessages", "33", 1, 32);
  ASSERT_TRUE(wrong.failed_with(ErrorCode::kOutOfRangeQueryParameterValue));
  EXPECT_EQ(wrong.error().fields.at(3), std::pair(std::string("MaximumAllowed"), std::string("32")));
  EXPECT_TRUE(number_parameter("visibilitytimeout", "x", 0, 1).failed_with(ErrorCode::kInvalidQueryParameterValue));
  EXPECT_FALSE(number_parameter("absent", std::nullopt, 0, 1).value());
  const std::string beyond(20, '9');
  EXPECT_TRUE(number_parameter("numofmessages", beyond, 1, 32).failed_with(ErrorCode::kOutOfRangeQueryParameterValue));
  EXPECT_TRUE(
      number_parameter("numofmessages", beyond + "x", 1, 32).failed_with(ErrorCode::kInvalidQueryParameterValue));
  EXPECT_EQ(number_parameter("messagettl", beyond, -1, INT64_MAX).value(), INT64_MAX);
  EXPECT_TRUE(number_parameter("messagettl", "-" + beyond, -1, INT64_MAX)
                  .failed_with(ErrorCode::kOutOfRangeQueryParameterValue));
}

TEST(QueueRequest, AFollowUpLivesAsLongAsItIsTold) {
  const auto life = [](const std::string& seconds) {
    return read_follow_ups("<QueueMessage><MessageText>a</MessageText><MessageTimeToLive>" + seconds +
                               "</MessageTimeToLive></QueueMessage>",
                           "queue", std::chrono::seconds(5));
  };
  EXPECT_FALSE(life("-1")->front().message.time_to_live);
  EXPECT_EQ(life("6")->front().message.time_to_live, std::chrono::seconds(6));
  for (const auto* long_s : {"2147483648", "9007199254740991", "99999999999999999999"}) {
    EXPECT_GT(life(long_s)->front().message.time_to_live, std::chrono::years(68)) << long_s;
  }
  for (const auto* refused : {"0", "5", "-2", "x", "1.5"}) {
    EXPECT_TRUE(life(refused).failed_with(ErrorCode::kInvalidXmlNodeValue)) << refused;
  }
}

}  // namespace
}  // namespace tidemark::queue_service::rest
