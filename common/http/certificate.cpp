#include "common/http/certificate.h"

#include <openssl/ssl.h>

#include <array>

#include <boost/asio/ssl/context.hpp>

#include "common/base/log.h"
#include "common/base/small_file.h"
#include "common/base/time.h"

namespace tidemark::http {
namespace {

namespace ssl = boost::asio::ssl;

constexpr const char* kCiphersOfTls12 = "ECDHE+AESGCM:ECDHE+CHACHA20";

std::unexpected<Error> wrong(const char* setting, const std::string& path, const std::string& why) {
  return fail(ErrorCode::kConfigInvalid, std::string(setting) + ": " + path + " " + why + ".");
}

Result<std::string> read_file(const char* setting, const std::string& path) {
  auto bytes = read_small_file(path);
  if (!bytes) return wrong(setting, path, bytes.error().message);
  return bytes;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  return to_iso8601(Time(std::chrono::seconds(::timegm(&parts))));
}

/// Refuses a certificate that no client would accept, which is as bad as none.
Result<void> check_times(const CertificateFiles& files, const ssl::context& context) {
  const auto* certificate = ::SSL_CTX_get0_certificate(const_cast<ssl::context&>(context).native_handle());
  const auto* begins = ::X509_get0_notBefore(certificate);
  const auto* ends = ::X509_get0_notAfter(certificate);
  if (::X509_cmp_current_time(ends) < 0) {
    return wrong("tls_certificate_file", files.certificate, "expired at " + time_text(ends) + ": renew it");
  }
  if (::X509_cmp_current_time(begins) > 0) {
    return wrong("tls_certificate_file", files.certificate,
                 "is not valid before " + time_text(begins) + ": is the clock of this machine right?");
  }
  return {};
}

Result<std::shared_ptr<ssl::context>> read_context(const CertificateFiles& files) {
  const auto chain = TRY(read_file("tls_certificate_file", files.certificate));
  const auto key = TRY(read_file("tls_key_file", files.key));
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  auto* const native = context->native_handle();
  ::SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  ::SSL_CTX_set_cipher_list(native, kCiphersOfTls12);
  ::SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);  // clients bring the state to resume a session
  ::SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);          // of idle connections

  boost::system::error_code error;
  // Without this, OpenSSL would ask for a passphrase on the terminal.
  context->set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); }, error);
  context->use_certificate_chain(boost::asio::buffer(chain), error);
  if (error) {
    return wrong("tls_certificate_file", files.certificate,
                 "is not a chain of certificates in PEM: " + error.message());
  }
  context->use_private_key(boost::asio::buffer(key), ssl::context::pem, error);
  if (error) {
    return wrong("tls_key_file", files.key,
                 "is not the certificate's private key in PEM without a passphrase: " + error.message());
  }
  TRY(check_times(files, *context));
  return context;
}

}  // namespace

void declare(process::Settings& settings, CertificateFiles& files) {
  settings.add("tls_certificate_file", files.certificate,
               "certificate and the chain to its authority (PEM): the port speaks HTTPS; SIGHUP reads it again");
  settings.add("tls_key_file", files.key, "private key of the certificate (PEM, without a passphrase)");
}

Result<std::shared_ptr<Certificate>> Certificate::load(CertificateFiles files) {
  if (files.certificate.empty() && files.key.empty()) return std::shared_ptr<Certificate>();
  if (files.certificate.empty() || files.key.empty()) {
    return fail(ErrorCode::kConfigInvalid, "tls_certificate_file and tls_key_file belong together: set both or none.");
  }
  auto context = TRY(read_context(files));
  return std::shared_ptr<Certificate>(new Certificate(std::move(files), std::move(context)));
}

void Certificate::reload() {
  auto context = read_context(files_);
  if (!context) {
    log_error("the TLS certificate is kept, because the new one cannot be used reason=\"{}\"", context.error().message);
    return;
  }
  {
    const MutexLock lock(mutex_);
    context_ = std::move(*context);
  }
  log_info("the TLS certificate was read again file={}", files_.certificate);
}

std::shared_ptr<ssl::context> Certificate::context() const {
  const MutexLock lock(mutex_);
  return context_;
}

}  // namespace tidemark::http
