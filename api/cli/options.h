// Settings that every subcommand has: the addresses of the stack, and the form of the output.
#pragma once
#include <string>

namespace tidemark::cli {

/// Exit codes, for scripts.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,           // the request was refused or could not be made
  kUsage = 2,            // wrong arguments
  kNotFoundExit = 3,     // no such job, message or entity
  kJobNotSucceeded = 4,  // job show --watch, job submit --wait: poisoned or cancelled
};

struct GlobalOptions {
  std::string api = "http://127.0.0.1:10003";
  std::string token;          // empty: the token in DATA/run/token, for an api on this machine
  std::string data = "data";  // of the stack
  std::string table = "http://127.0.0.1:10002/devstoreaccount1";
  std::string account = "devstoreaccount1";
  std::string key;      // base64
  std::string ca_file;  // PEM
  std::string reason;   // for the audit trail
  bool json = false;
};

}  // namespace tidemark::cli
