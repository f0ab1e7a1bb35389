// Entities over the wire: what a client of tests/histories sends, and what it reads of the answers.
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class EntityClient : public Client {
 public:
  using Client::Client;
  /// Every row of the partition, in the end. False: there was no answer.
  bool look(const std::string& partition);

 protected:
  struct Known {
    std::string etag;
    Token token = kNothing;
  };

  bool write(Place& place, const std::string& partition, std::vector<Change> changes, const std::string& etag = "*");
  /// Nothing: there is no such row, or there was no answer.
  std::optional<Known> get(const std::string& partition, Row row);
  bool query(const std::string& partition, const Asked& asked);
  /// Of all these partitions, and what is between them.
  void query_table(const std::deque<Place>& places, const Asked& asked);

 private:
  HttpRequest request_of(const std::string& partition, const Change& change, const std::string& etag) const;
  HttpRequest group_of(const std::string& partition, const std::vector<Change>& changes) const;
  /// By partition; nothing if there was no answer, or not all in one.
  std::optional<std::map<std::string, std::map<Row, Content>>> find(const std::string& filter);
};

/// Who only looks.
class EntityLook final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override {}
};

}  // namespace tidemark::histories
