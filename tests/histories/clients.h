// Clients of the three stores that write down their requests and the answers.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "tests/histories/http_connection.h"
#include "tests/histories/messages.h"
#include "tests/histories/registers.h"

namespace tidemark::histories {

Moment now();

/// The place of an object that several clients work on at once. After a number of operations, or of unknown outcomes, a
/// new object takes the place of the old one, because the search for an order in a longer history would take too long.
class Place {
 public:
  explicit Place(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string object() const { return name_ + "-" + std::to_string(number_.load()); }
  [[nodiscard]] bool is_current(const std::string& object) const { return object == this->object(); }
  void asked(bool unknown);

 private:
  const std::string name_;
  std::atomic<int> number_{0}, operations_{0}, unknown_{0};
};

/// The state that all clients of a run share.
struct Workload {
  std::vector<int> table_ports, queue_ports, blob_ports;
  std::string sas;
  std::deque<Place> small, wide, blobs;  // partitions of a few rows, partitions of a hundred rows, blobs
  std::vector<std::string> queues;
  std::atomic<Token> last_token{0};
  std::atomic<bool> stop{false};
  std::chrono::milliseconds pause{0}, patience{3000};
  Token next_token() { return ++last_token; }
};

/// The histories of one client, or of all. The token of its put identifies a message.
struct Book {
  std::map<std::string, std::vector<RegisterOperation>> registers;
  std::map<std::string, std::map<Token, std::vector<MessageOperation>>> messages;  // by queue
  std::map<std::string, Moment> first_lost_receive;                                // by queue
  std::map<std::string, std::set<Token>> drained;  // by queue: the messages that were found once all was quiet
  std::map<std::string, Token> etags;              // by "object row etag": the token that it stood for
  std::vector<std::string> complaints;             // faults that were found without a search

  void complain(std::string what);
  /// Complains if the ETag has stood for another state before.
  void note_etag(const std::string& object, Row row, std::string_view etag, Token token);
  void add(Book&& other);
};

class Client {
 public:
  Client(Workload& workload, int number, std::uint64_t seed) : workload_(workload), number_(number), dice_(seed) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void run();
  Book& book() { return book_; }

 protected:
  virtual void step() = 0;
  /// Sends the request to any of the processes of the store.
  HttpAnswer ask(const std::vector<int>& ports, HttpRequest request, std::string_view query = {});
  RegisterOperation begin(const char* how = "read") const;
  /// Records a write, if it was sent at all. True: it was done.
  bool end_write(const std::string& object, RegisterOperation operation, const HttpAnswer& answer);
  void end_read(const std::string& object, RegisterOperation operation);
  void surprised(const HttpAnswer& answer);
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return dice_() % bound; }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  auto& any_of(T& all) {
    return all[below(std::size(all))];
  }

  Workload& workload_;
  const int number_;
  Book book_;

 private:
  std::mt19937_64 dice_;
  std::map<int, std::unique_ptr<HttpConnection>> connections_;
};

/// Makes a client of a few rows of a partition that uses every operation, with and without conditions, alone and in
/// groups.
std::unique_ptr<Client> make_entity_client(Workload& workload, int number, std::uint64_t seed);
/// Makes a client that replaces the hundred rows of a partition in one group, and at times erases some of them.
std::unique_ptr<Client> make_group_writer(Workload& workload, int number, std::uint64_t seed);
/// Make clients that read the same rows: all of them at once, or by point reads and queries right after each other.
std::unique_ptr<Client> make_group_scanner(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_group_reader(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_message_client(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_blob_client(Workload& workload, int number, std::uint64_t seed);

/// Returns the text of each element that has this name.
std::vector<std::string_view> elements(std::string_view xml, std::string_view name);
/// Returns the number in a token's text: 17 for "w17".
Token token_of(std::string_view text);

}  // namespace tidemark::histories
