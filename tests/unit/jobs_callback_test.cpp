// The allowed URLs and destinations of callbacks. Where many forms mean the same, an independent reader decides their
// meaning: inet_aton for odd IPv4 forms, networks written as text for special addresses.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "jobs/callbacks/callback_policy.h"
#include "jobs/spec/job_spec.h"
#include "tests/support/seeded_random.h"

namespace tidemark::jobs {
namespace {

namespace ip = boost::asio::ip;

CallbackPolicy policy_of(std::string_view hosts, std::string_view private_hosts = "", std::string_view http = "") {
  auto made = CallbackPolicy::create(hosts, private_hosts, http);
  EXPECT_TRUE(made.has_value()) << hosts;
  return made ? *made : CallbackPolicy();
}

bool admitted(const CallbackPolicy& policy, const std::string& text) {
  const auto url = parse_callback_url(text);
  return url && policy.admit(*url).has_value();
}

TEST(CallbackPolicy, NamesAllThatIsMissingAtOnce) {
  const auto told = [](const CallbackPolicy& policy, const std::string& text) {
    const auto done = policy.admit(*parse_callback_url(text));
    return done ? std::string() : done.error().message;
  };
  for (const std::string host : {"localhost:9999", "127.0.0.1:9999"}) {
    const auto url = "http://" + host + "/hook";
    for (const auto* setting :
         {"callback_hosts", "callback_secrets", "callback_http_hosts", "callback_private_hosts"}) {
      EXPECT_NE(told(policy_of(""), url).find(setting), std::string::npos) << told(policy_of(""), url);
    }
    EXPECT_EQ(told(policy_of(host, host, host), url), "");
  }
  EXPECT_EQ(
      told(policy_of("*:*", "", "*:*"), "http://127.0.0.1:9/"),
      "Callbacks to http://127.0.0.1:9 are not allowed: the address is not a public one, so 127.0.0.1:9 would have "
      "to be in callback_private_hosts.");
  EXPECT_EQ(told(policy_of("*:*", "", "*:*"), "http://localhost:9/"), "") << "it is looked up when it is called";
}

TEST(CallbackUrl, IsReadAndRebuilt) {
  struct Case {
    const char *given, *text, *host;
    int port;
    bool tls;
  };
  for (const auto& c :
       {Case{"https://example.com", "https://example.com/", "example.com", 443, true},
        Case{"HTTPS://Example.COM:443/a%20b?c=d&e", "https://example.com/a%20b?c=d&e", "example.com", 443, true},
        Case{"http://example.com:8080/x/../y", "http://example.com:8080/x/../y", "example.com", 8080, false},
        Case{"http://h:80?", "http://h/?", "h", 80, false},
        Case{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, true},
        Case{"https://a_b.c-d.e1/", "https://a_b.c-d.e1/", "a_b.c-d.e1", 443, true},
        Case{"https://192.0.2.7:9/", "https://192.0.2.7:9/", "192.0.2.7", 9, true},
        Case{"https://[2001:DB8:0:0::1]/x", "https://[2001:db8::1]/x", "2001:db8::1", 443, true},
        Case{"https://[::ffff:127.0.0.1]:1/", "https://[::ffff:127.0.0.1]:1/", "::ffff:127.0.0.1", 1, true}}) {
    const auto url = parse_callback_url(c.given);
    ASSERT_TRUE(url.has_value()) << c.given << ": " << url.error().message;
    EXPECT_EQ(url->text, c.text);
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->tls, c.tls);
    // The rebuilt URL reads as the same.
    EXPECT_EQ(parse_callback_url(url->text)->text, url->text);
  }
}

TEST(CallbackUrl, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  const std::vector<std::string> bad_hosts = {"",
                                              ".",
                                              "..",
                                              "a.",
                                              "a..b",
                                              ".a",
                                              "-a",
                                              "a-",
                                              "a.-b",
                                              "a b",
                                              "a%2eb",
                                              "a%00",
                                              "a%",
                                              "a@b",
                                              "a\\b",
                                              "a\\@b",
                                              "a;b",
                                              "a,b",
                                              "a!b",
                                              "a$b",
                                              "a(b)",
                                              "a'b",
                                              "a*b",
                                              "a+b",
                                              "a=b",
                                              "a~b",
                                              "a|b",
                                              "a^b",
                                              "a{b}",
                                              "a\"b",
                                              "a<b>",
                                              "a`b",
                                              "a#b",
                                              "\xc3\xa9.com",
                                              "\xe2\x91\xa0.com",
                                              "ex\xef\xbc\x8e"
                                              "com",
                                              "\xef\xbd\x81.com",
                                              "a\tb",
                                              "a\nb",
                                              "a\r\nb",
                                              std::string("a\0b", 3),
                                              "a\x7f"
                                              "b",
                                              "user@h",
                                              "user:pass@h",
                                              ":@h",
                                              "@h",
                                              "h@",
                                              "127.0.0.1@h",
                                              "h:80@i",
                                              "[",
                                              "]",
                                              "[]",
                                              "[::1",
                                              "::1]",
                                              "[::1]x",
                                              "[::g]",
                                              "[::1%25eth0]",
                                              "[fe80::1%eth0]",
                                              "[v1.fe]",
                                              "[1.2.3.4]",
                                              "[:::]",
                                              "[1:2:3:4:5:6:7:8:9]",
                                              "::1",
                                              "1:2:3",
                                              "[::ffff:1.2.3]",
                                              "[::ffff:256.1.1.1]",
                                              "0",
                                              "1",
                                              "127",
                                              "127.1",
                                              "127.0.1",
                                              "2130706433",
                                              "0x7f000001",
                                              "0x7f.1",
                                              "0x7f.0.0.1",
                                              "017700000001",
                                              "0177.0.0.1",
                                              "127.0.0.01",
                                              "127.0.0.1.",
                                              "127.0.0.256",
                                              "1.2.3.4.5",
                                              "256.256.256.256",
                                              "4294967296",
                                              "a.1",
                                              "a.0x1",
                                              "a.0x",
                                              "0x",
                                              "example.com.",
                                              "localhost.",
                                              std::string(64, 'a') + ".com",
                                              std::string(254, 'a')};
  const std::vector<std::string> tails = {"", "/", "/p", "?q", "/p?q", ":443", ":443/p", ":8443/p?q"};
  std::size_t cases = 0;
  for (const auto& scheme : {"https://", "http://", "HTTPS://", "hTTp://"}) {
    for (const auto& host : bad_hosts) {
      for (const auto& tail : tails) {
        ++cases;
        EXPECT_FALSE(parse_callback_url(scheme + host + tail).has_value()) << scheme << host << tail;
      }
    }
  }
  for (const std::string text : {"",
                                 " ",
                                 "h",
                                 "//h/",
                                 "/p",
                                 "https:",
                                 "https:/h",
                                 "https:h",
                                 "https:///p",
                                 "https//h",
                                 "ftp://h/",
                                 "file:///etc/passwd",
                                 "gopher://h/",
                                 "javascript:1",
                                 "data:,x",
                                 "unix:/x",
                                 "wss://h/",
                                 "ws://h/",
                                 "httpss://h/",
                                 "https ://h/",
                                 " https://h/",
                                 "https://h/ ",
                                 "https://h/a b",
                                 "https://h/\n",
                                 "https://h/\r\nX: y",
                                 "https://h/#f",
                                 "https://h#f",
                                 "https://h/%",
                                 "https://h/%zz",
                                 "https://h/\xc3\xa9",
                                 "https://h:/",
                                 "https://h:0/",
                                 "https://h:65536/",
                                 "https://h:99999999999/",
                                 "https://h:-1/",
                                 "https://h:+1/",
                                 "https://h:1 /",
                                 "https://h:a/",
                                 "https://h:80:80/",
                                 "https://h:8 0/",
                                 "https:\\\\h\\",
                                 "https://h\\/"}) {
    ++cases;
    EXPECT_FALSE(parse_callback_url(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_callback_url("https://h/" + std::string(2048, 'a')).has_value());
  EXPECT_GT(cases, 2500U);
}

TEST(CallbackUrl, AnOddAddressIsThatAddressOrNothing) {
  auto random = make_seeded_random(11);
  constexpr std::string_view kAlphabet = "0011279fFxX..";
  std::size_t odd = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string host;
    for (auto length = 1 + random->below(16); length > 0; --length) host += kAlphabet[random->below(kAlphabet.size())];
    const auto url = parse_callback_url("https://" + host + "/");
    in_addr meant{};
    if (::inet_aton(host.c_str(), &meant) == 0) continue;
    ++odd;
    if (!url) continue;
    ASSERT_TRUE(url->address.has_value()) << host;
    EXPECT_EQ(url->address->to_v4().to_uint(), ntohl(meant.s_addr)) << host;
  }
  EXPECT_GT(odd, 5000U);
  // Well-formed ones are let through, to be judged as addresses.
  for (int i = 0; i < 1000; ++i) {
    const ip::address_v4 address(static_cast<std::uint32_t>(random->next()));
    const auto url = parse_callback_url("https://" + address.to_string() + "/");
    ASSERT_TRUE(url && url->address) << address.to_string();
    EXPECT_EQ(*url->address, ip::address(address));
  }
}

// IANA's registries of special addresses, and three addresses of clouds, as text.
constexpr const char* kSpecial4[] = {"0.0.0.0/8",        "10.0.0.0/8",     "100.64.0.0/10",  "127.0.0.0/8",
                                     "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",  "192.0.0.0/24",
                                     "192.0.2.0/24",     "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
                                     "198.51.100.0/24",  "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4"};
constexpr const char* kSpecial6[] = {"::/96",     "100::/64",  "2001::/23",      "2001:db8::/32",
                                     "2002::/16", "3fff::/20", "64:ff9b:1::/48", "fc00::/7",
                                     "fe80::/10", "fec0::/10", "ff00::/8",       "5f00::/16"};

bool special4(const ip::address_v4& address) {
  for (const auto* text : kSpecial4) {
    const auto block = ip::make_network_v4(text);
    if (block == ip::make_network_v4(address, block.prefix_length()).canonical()) return true;
  }
  return false;
}

TEST(CallbackPolicy, KnowsEverySpecialIpv4Block) {
  std::vector<ip::address_v4> addresses;
  for (const auto* text : kSpecial4) {
    const auto block = ip::make_network_v4(text);
    const auto first = block.network().to_uint(), last = block.broadcast().to_uint();
    for (const auto edge : {first, last, first + (last - first) / 2}) addresses.emplace_back(edge);
    if (first > 0) addresses.emplace_back(first - 1);
    if (last < UINT32_MAX) addresses.emplace_back(last + 1);
  }
  auto random = make_seeded_random(5);
  for (int i = 0; i < 20'000; ++i) addresses.emplace_back(static_cast<std::uint32_t>(random->next()));
  std::size_t open = 0;
  for (const auto& address : addresses) {
    const bool is_public = !special4(address);
    open += is_public ? 1 : 0;
    EXPECT_EQ(is_public_address(address), is_public) << address.to_string();
    // The same address inside an IPv6 one: mapped, and through a translator.
    EXPECT_EQ(is_public_address(ip::make_address_v6(ip::v4_mapped, address)), is_public) << address.to_string();
    EXPECT_EQ(is_public_address(ip::make_address("64:ff9b::" + address.to_string())), is_public);
    EXPECT_FALSE(is_public_address(ip::make_address("::" + address.to_string())) && address.to_uint() > 1);
  }
  EXPECT_GT(open, 10'000U);
}

TEST(CallbackPolicy, KnowsEverySpecialIpv6Block) {
  for (const auto* text : kSpecial6) {
    const auto block = ip::make_network_v6(text);
    EXPECT_FALSE(is_public_address(block.network())) << text;
    auto last = block.network().to_bytes();
    for (unsigned bit = block.prefix_length(); bit < 128; ++bit) {
      last[bit / 8] = static_cast<unsigned char>(last[bit / 8] | (0x80U >> (bit % 8)));
    }
    EXPECT_FALSE(is_public_address(ip::address_v6(last))) << text;
  }
  for (const auto* text :
       {"2606:4700::1111", "2a00:1450:4001::8a", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2400::1"}) {
    EXPECT_TRUE(is_public_address(ip::make_address(text))) << text;
  }
  EXPECT_FALSE(is_public_address(ip::make_address("::1")));
  EXPECT_FALSE(is_public_address(ip::make_address("fd00:ec2::254")));
  EXPECT_FALSE(is_public_address(ip::make_address("fe80::1%1")));
}

TEST(CallbackPolicy, ListsMatchHostAndPort) {
  const auto policy = policy_of("example.com, *.Example.org:8443 ,[2606:4700::1]:*,192.0.2.9:*, host:1,host:2");
  for (const auto* text :
       {"https://example.com/", "https://EXAMPLE.com:443/x", "https://a.example.org:8443/",
        "https://a.b.example.org:8443/", "https://[2606:4700:0::1]:9/", "https://host:1/", "https://host:2/"}) {
    EXPECT_TRUE(admitted(policy, text)) << text;
  }
  for (const auto* text :
       {"https://example.com:8443/", "https://a.example.com/", "https://example.org:8443/",
        "https://aexample.org:8443/", "https://notexample.org:8443/", "https://a.example.org/",
        "https://example.com.evil.net/", "https://evil-example.com/", "https://[2606:4700::2]/", "https://host/",
        "https://host:3/", "http://example.com/", "https://192.0.2.9/", "https://[::ffff:192.0.2.9]/"}) {
    EXPECT_FALSE(admitted(policy, text)) << text;
  }
  const auto http = policy_of("a:*,b:*", "", "a, b:8080");
  EXPECT_TRUE(admitted(http, "http://a/"));
  EXPECT_TRUE(admitted(http, "http://b:8080/"));
  EXPECT_FALSE(admitted(http, "http://a:8080/"));
  EXPECT_FALSE(admitted(http, "http://b/"));
  EXPECT_FALSE(admitted(CallbackPolicy(), "https://example.com/"));
  EXPECT_FALSE(CallbackPolicy().enabled());
}

TEST(CallbackPolicy, AnyHostIsNotAnyAddress) {
  const auto any = policy_of("*:*");
  EXPECT_TRUE(admitted(any, "https://anything.at.all:99/"));
  EXPECT_TRUE(admitted(any, "https://1.1.1.1/"));
  for (const auto* host :
       {"127.0.0.1", "10.1.2.3", "169.254.169.254", "168.63.129.16", "100.100.100.200", "0.0.0.0", "[::]", "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]"}) {
    EXPECT_FALSE(admitted(any, "https://" + std::string(host) + "/")) << host;
    EXPECT_TRUE(admitted(policy_of("*:*", host), "https://" + std::string(host) + "/")) << host;
  }
  // An allowed name is allowed at public addresses only, unless it is in the second list.
  const auto url = *parse_callback_url("https://intranet/");
  EXPECT_FALSE(any.may_connect(url, ip::make_address("10.0.0.1")));
  EXPECT_TRUE(any.may_connect(url, ip::make_address("8.8.8.8")));
  EXPECT_TRUE(policy_of("intranet", "intranet").may_connect(url, ip::make_address("10.0.0.1")));
  EXPECT_FALSE(policy_of("intranet", "intranet:8443").may_connect(url, ip::make_address("10.0.0.1")));
}

TEST(CallbackPolicy, ListsWithMistakesAreRefused) {
  for (const auto* text : {"exa mple.com", "https://example.com", "example.com/", "user@example.com", "*.", "*.1.2.3.4",
                           "*example.com", "a.*.b", "**", "example.com:", "example.com:0", "example.com:65536",
                           "example.com:x", "a:1:2", "[::1", "::1", "a,b c", "1.2.3", "*.[::1]"}) {
    EXPECT_TRUE(CallbackPolicy::create(text, "", "").failed_with(ErrorCode::kConfigInvalid)) << text;
  }
}

TEST(CallbackSpec, IsReadAndWritten) {
  const auto spec =
      parse_job_spec(R"({"kind":"callback","url":"https://h/x","headers":{"X-A":"b c","Authorization":"Bearer t"},
      "body":{"b":[1,null],"a":"\u00e9"},"timeoutMs":500,"secret":"billing","method":"PUT"})");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  const auto& callback = std::get<CallbackSpec>(spec->work);
  EXPECT_EQ(callback.body, "{\"a\":\"\xc3\xa9\",\"b\":[1,null]}");
  EXPECT_EQ(callback.headers.size(), 2U);
  EXPECT_EQ(parse_job_spec(canonical_text(*spec)), *spec);
  const auto text = parse_job_spec(R"({"kind":"callback","url":"http://h/","body":"{plain"})");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(std::get<CallbackSpec>(text->work).body, "{plain");
  EXPECT_FALSE(std::get<CallbackSpec>(text->work).body_is_json);
  EXPECT_EQ(parse_job_spec(canonical_text(*text)), *text);
  const auto bare = parse_job_spec(R"({"kind":"callback","url":"http://h/"})");
  EXPECT_FALSE(std::get<CallbackSpec>(bare->work).body.has_value());
}

TEST(CallbackSpec, HeadersThatAreOursOrBreakLinesAreRefused) {
  for (const auto* name : {"Host",
                           "CONTENT-LENGTH",
                           "Transfer-Encoding",
                           "Connection",
                           "Expect",
                           "TE",
                           "Trailer",
                           "Upgrade",
                           "Keep-Alive",
                           "Proxy-Authorization",
                           "webhook-id",
                           "Webhook-Signature",
                           "webhook-anything",
                           "idempotency-key",
                           "tidemark-epoch",
                           "",
                           "a b",
                           "a:",
                           "a\\r\\nb",
                           "\\u00e9",
                           "a\\u0000"}) {
    EXPECT_TRUE(
        parse_job_spec(R"({"kind":"callback","url":"https://h/","headers":{")" + std::string(name) + R"(":"v"}})")
            .failed_with(ErrorCode::kJobInvalid))
        << name;
  }
  for (const auto* value : {R"("a\r\nX: y")", R"("a\n")", R"("\u0000")", R"("\u00e9")", R"(" a")", R"("a ")", "1",
                            "null", "[]", R"("\u007f")", R"("a\tb")"}) {
    EXPECT_TRUE(parse_job_spec(R"({"kind":"callback","url":"https://h/","headers":{"A":)" + std::string(value) + "}}")
                    .failed_with(ErrorCode::kJobInvalid))
        << value;
  }
  EXPECT_FALSE(parse_job_spec(R"({"kind":"callback","url":"https://h/","headers":{"A":"1","a":"2"}})").has_value());
  EXPECT_FALSE(
      parse_job_spec(R"({"kind":"callback","url":"https://h/","headers":{"A":")" + std::string(9000, 'x') + "\"}}")
          .has_value());
  const auto bad =
      parse_job_spec(R"({"kind":"callback","url":"h","method":"TRACE","timeoutMs":0,"secret":"a b","body":1,"x":1})");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().fields.size(), 5U) << bad.error().message;
}

TEST(CallbackSpec, AnyJobMayTellOfItsEnd) {
  const std::string job = R"("kind":"delete","source":"Aaa","filter":"")";
  const auto spec = parse_job_spec("{" + job + R"(,"onEnd":{"url":"https://h/","headers":{"A":"b"},"secret":"s"}})");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->on_end->secret, "s");
  EXPECT_EQ(parse_job_spec(canonical_text(*spec)), *spec);
  for (const auto* on_end : {"1", "{}", R"({"url":"x"})", R"({"url":"https://h/","body":1})",
                             R"({"url":"https://h/","headers":{"Host":"a"}})"}) {
    EXPECT_FALSE(parse_job_spec("{" + job + ",\"onEnd\":" + on_end + "}").has_value()) << on_end;
  }
}

TEST(JobBatch, AGroupHasANameAndMayTellOfItsEnd) {
  const std::string jobs = R"("jobs":[{"kind":"delete","source":"Aaa","filter":""}])";
  const auto batch = parse_job_batch("{" + jobs + R"(,"group":"night.1_a-B","onEnd":{"url":"https://h/"}})");
  ASSERT_TRUE(batch.has_value()) << batch.error().message;
  EXPECT_EQ(batch->group, "night.1_a-B");
  EXPECT_TRUE(batch->on_end.has_value());
  EXPECT_NE(batch_fingerprint(*batch), batch_fingerprint(*parse_job_batch("{" + jobs + R"(,"group":"night.1_a-B"})")));
  for (const auto* more : {R"("onEnd":{"url":"https://h/"})", R"("group":"a b")", R"("group":"")", R"("group":1)",
                           R"("group":"a","x":1)", R"("group":"a","onEnd":{"url":"h"})"}) {
    EXPECT_FALSE(parse_job_batch("{" + jobs + "," + more + "}").has_value()) << more;
  }
  EXPECT_FALSE(
      parse_job_batch(R"({"group":"a","jobs":[{"kind":"delete","source":"Aaa","filter":"","idempotencyKey":"k"}]})")
          .has_value());
  // Only messages tell which member they are.
  const std::string member = R"({"kind":"delete","source":"Aaa","filter":"","group":{"id":"a","number":3}})";
  EXPECT_FALSE(parse_job_spec(member).has_value());
  EXPECT_EQ(parse_job_message(member)->spec.group, (GroupMember{"a", 3}));
}

}  // namespace
}  // namespace tidemark::jobs
