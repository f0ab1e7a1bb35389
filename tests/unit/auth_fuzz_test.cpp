#include "tests/support/seeded_random.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

// Damages a random byte in one of the request's texts, or cuts or doubles a piece of it.
void damage(Random& random, std::string& text) {
  const auto kind = random.below(4);
  const auto at_byte = text.empty() ? 0 : random.below(text.size());
  if (text.empty() || kind == 0) {
    text.insert(text.begin() + static_cast<std::ptrdiff_t>(at_byte), static_cast<char>(random.below(256)));
  } else if (kind == 1) {
    text[at_byte] = static_cast<char>(random.below(256));
  } else if (kind == 2) {
    text.erase(at_byte, 1 + random.below(8));
  } else {
    text += text.substr(at_byte);
  }
}

std::string& pick(Random& random, Call& call) {
  const auto choice = random.below(3 + 2 * call.headers.size());
  if (choice == 0) return call.method;
  if (choice == 1) return call.path;
  if (choice == 2) return call.query;
  auto& header = call.headers[(choice - 3) / 2];
  return (choice - 3) % 2 == 0 ? header.first : header.second;
}

// Every request is signed with a key the server does not know, so none may pass, however it is damaged.
void forge(Call& call) {
  if (!call.headers.empty() && call.headers.back().first == "Authorization") {
    auto& value = call.headers.back().second;
    value = value.substr(0, value.find(':') + 1) + signed_with("another key", call.path);
    return;
  }
  const auto start = call.query.find("sig=") + 4;
  const auto end = std::min(call.query.find('&', start), call.query.size());
  call.query.replace(start, end - start, percent_encode(signed_with("another key", call.query)));
}

TEST(Fuzz, DamagedForgeriesNeitherCrashNorPass) {
  auto random = make_seeded_random(20261121);
  auto vectors = shared_key_vectors();
  for (auto& vector : sas_vectors()) vectors.push_back(std::move(vector));
  for (auto& vector : vectors) forge(vector.call);
  for (int round = 0; round < 40'000; ++round) {
    auto call = vectors[random->below(vectors.size())].call;
    for (auto times = 1 + random->below(4); times > 0; --times) damage(*random, pick(*random, call));
    if (random->below(8) == 0) damage(*random, call.host);
    if (random->below(8) == 0) damage(*random, call.remote);
    const auto result = run(call, sas_time(), {.check_clock_skew = false}, policy_of_t2());
    ASSERT_FALSE(result.has_value()) << "round " << round << " " << call.path << "?" << call.query;
  }
}

TEST(Fuzz, DamagedVectorsDoNotCrash) {
  auto random = make_seeded_random(7);
  auto vectors = shared_key_vectors();
  for (auto& vector : sas_vectors()) vectors.push_back(std::move(vector));
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto call = vectors[random->below(vectors.size())].call;
    damage(*random, pick(*random, call));
    if (!run(call, sas_time(), {.check_clock_skew = false}, policy_of_t2()).has_value()) ++refused;
  }
  EXPECT_GT(refused, 15'000U);  // the rest damaged unsigned parts, such as a table's method
}

}  // namespace
}  // namespace tidemark::auth::testing
