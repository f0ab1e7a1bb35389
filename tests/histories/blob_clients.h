// Blobs over the wire. All of a blob's content, and its metadata, name the write that left the blob.
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class BlobWatcher final : public Client {
 public:
  using Client::Client;
  /// Reads all blobs, at the end. False: there was no answer.
  bool look();

 private:
  void step() override;
  void put(Place& place, Verb verb, std::string_view condition, Token expected);
  void put_blocks(Place& place);
  void erase(Place& place);
  void replace_what_is_known(Place& place);
  bool list();
  /// Returns the ETag and the token of the write that it stands for; nothing if there is no blob, or no answer.
  std::optional<std::pair<std::string, Token>> read(const std::string& blob, const char* method);
  void finish(Place& place, const std::string& blob, RegisterOperation operation, Change change,
              const HttpAnswer& answer);
  std::string content(Token token);
};

}  // namespace tidemark::histories
