// The certificate of a server that speaks HTTPS: two PEM files, which can be read again while connections are open.
// Connections keep the certificate that they began with. TLS 1.2 and later; with 1.2, ciphers with forward secrecy
// only.
#pragma once
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "common/process/config.h"

namespace boost::asio::ssl {
class context;
}

namespace tidemark::http {

struct CertificateFiles {
  std::string certificate;  // with the certificates between it and its authority
  std::string key;          // without a passphrase
};
/// Declares the settings tls_certificate_file and tls_key_file.
void declare(process::Settings& settings, CertificateFiles& files);

/// Thread safe.
class Certificate {
 public:
  /// Null if no files are named. The message of kConfigInvalid says which file is wrong and why.
  static Result<std::shared_ptr<Certificate>> load(CertificateFiles files);
  /// Reads the files again. If anything is wrong with them, the certificate stays as it is and the log says why.
  void reload();
  /// The context for the next connection.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> context() const;

 private:
  using Context = std::shared_ptr<boost::asio::ssl::context>;
  Certificate(CertificateFiles files, Context context) : files_(std::move(files)), context_(std::move(context)) {}

  const CertificateFiles files_;
  mutable Mutex mutex_;
  Context context_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::http
