// Clients of the three stores that write down what they ask for and what they see.
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

/// What several clients work on at once. An object has only so long a history, and only so many operations in it whose
/// outcome nobody knows: then a new one takes its place, or else the search for an order would take too long.
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

/// What all have in common.
struct Workload {
  std::vector<int> table_ports, queue_ports, blob_ports;
  std::string sas;
  std::deque<Place> small, wide, blobs;  // partitions of a few rows, of a hundred; blobs
  std::vector<std::string> queues;
  std::atomic<Token> last_token{0};
  std::atomic<bool> stop{false};
  std::chrono::milliseconds pause{0}, patience{3000};
  Token next_token() { return ++last_token; }
};

/// The histories of one client, or of all. A message is found by the token of its put.
struct Book {
  std::map<std::string, std::vector<RegisterOperation>> registers;
  std::map<std::string, std::map<Token, std::vector<MessageOperation>>> messages;  // by queue
  std::map<std::string, Moment> first_lost_receive;                                // of a queue
  std::map<std::string, std::set<Token>> drained;                                  // of a queue, once all was quiet
  std::map<std::string, Token> etags;   // "object row etag": what it stood for
  std::vector<std::string> complaints;  // that need no search

  void complain(std::string what);
  /// An ETag stands for one state and no other.
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
  /// By any of the processes that have the store.
  HttpAnswer ask(const std::vector<int>& ports, HttpRequest request, std::string_view query = {});
  RegisterOperation begin(const char* how = "read") const;
  /// Takes down a write, if it was sent at all. True: it was done.
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

/// Of a few rows of a partition: all that can be done, under conditions or not, alone or in groups.
std::unique_ptr<Client> make_entity_client(Workload& workload, int number, std::uint64_t seed);
/// Replaces or erases the rows of a partition, a hundred at once.
std::unique_ptr<Client> make_group_writer(Workload& workload, int number, std::uint64_t seed);
/// Look at the same rows: at all of them at once; or by point reads and queries, one right after the other.
std::unique_ptr<Client> make_group_scanner(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_group_reader(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_message_client(Workload& workload, int number, std::uint64_t seed);
std::unique_ptr<Client> make_blob_client(Workload& workload, int number, std::uint64_t seed);

/// The text of each element of the name.
std::vector<std::string_view> elements(std::string_view xml, std::string_view name);
/// "w17" is 17.
Token token_of(std::string_view text);

}  // namespace tidemark::histories
