#include "blob_store/model/digest.h"

#include <openssl/evp.h>

namespace tidemark::blob_store {

struct Md5::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, EVP_md5(), nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Md5::Md5() : state_(std::make_unique<State>()) {}
Md5::~Md5() = default;
void Md5::update(std::string_view bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }
std::string Md5::finish() {
  std::string out(16, '\0');
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

std::string md5_of(std::string_view bytes) {
  Md5 digest;
  digest.update(bytes);
  return digest.finish();
}

}  // namespace tidemark::blob_store
