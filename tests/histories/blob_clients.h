// Blobs over the wire. A blob says in its content, from the beginning to the end, which write left it, and in its
// metadata too.
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class BlobWatcher final : public Client {
 public:
  using Client::Client;
  /// All blobs, in the end. False: there was no answer.
  bool look();

 private:
  void step() override;
  void put(Place& place, Verb verb, std::string_view condition, Token expected);
  void put_blocks(Place& place);
  void erase(Place& place);
  void replace_what_is_known(Place& place);
  bool list();
  /// The ETag and what it stands for; nothing if there is no blob, or no answer.
  std::optional<std::pair<std::string, Token>> read(const std::string& blob, const char* method);
  void finish(Place& place, const std::string& blob, RegisterOperation operation, Change change,
              const HttpAnswer& answer);
  std::string content(Token token);
};

}  // namespace tidemark::histories
