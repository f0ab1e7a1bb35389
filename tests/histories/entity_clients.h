// Entities over the wire: the requests that clients send, and how they read the answers.
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class EntityClient : public Client {
 public:
  using Client::Client;
  /// Reads every row of the partition, at the end. False: there was no answer.
  bool look(const std::string& partition);

 protected:
  struct Known {
    std::string etag;
    Token token = kNothing;
  };

  bool write(Place& place, const std::string& partition, std::vector<Change> changes, const std::string& etag = "*");
  /// Returns nothing if there is no such row, or no answer.
  std::optional<Known> get(const std::string& partition, Row row);
  bool query(const std::string& partition, const Asked& asked);
  /// Queries the range of the table from the first of these partitions to the last.
  void query_table(const std::deque<Place>& places, const Asked& asked);

 private:
  HttpRequest request_of(const std::string& partition, const Change& change, const std::string& etag) const;
  HttpRequest group_of(const std::string& partition, const std::vector<Change>& changes) const;
  /// Returns the rows that match, by partition; nothing if there was no answer, or only a part of the result in it.
  std::optional<std::map<std::string, std::map<Row, Content>>> find(const std::string& filter);
};

/// A client that only reads, at the end of a run.
class EntityLook final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override {}
};

}  // namespace tidemark::histories
