// MD5 of a stream, for Content-MD5. For one thread at a time. Cannot fail with the default OpenSSL provider.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tidemark::blob_store {

class Md5 {
 public:
  Md5();
  ~Md5();
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;
  void update(std::string_view bytes);
  /// Returns 16 bytes; call it once.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// 16 bytes.
std::string md5_of(std::string_view bytes);

}  // namespace tidemark::blob_store
