#include "common/rpc/key_gate.h"

#include <zmq.h>

#include <cstdlib>

#include "common/base/encoding.h"

namespace tidemark::rpc {
namespace {

constexpr const char* kZapAddress = "inproc://zeromq.zap.01";
constexpr std::string_view kZapVersion = "1.0";
// Frames of a question: version, request, domain, address, identity, mechanism, and the key for CURVE.
constexpr std::size_t kRequest = 1, kAddress = 3, kMechanism = 5, kKey = 6, kFrames = 7;

}  // namespace

KeyGate::KeyGate(const Context& context, std::shared_ptr<const AllowedKeys> allowed, RefusalHook refused)
    : socket_(ZMQ_REP, context), allowed_(std::move(allowed)), refused_(refused) {
  // ZeroMQ admits every peer if no socket answers at this address.
  if (::zmq_bind(socket_.raw(), kZapAddress) != 0) std::abort();
}

bool KeyGate::admits(const Socket::Message& question) const {
  return question.count == kFrames && question.frames[0] == kZapVersion && question.frames[kMechanism] == "CURVE" &&
         allowed_->contains(question.frames[kKey]);
}

std::uint64_t KeyGate::answer() {
  std::uint64_t refusals = 0;
  while (const auto question = socket_.receive()) {
    const bool admitted = admits(*question);
    const auto key = question->frames[kKey].empty() ? "none" : hex_encode(question->frames[kKey]);
    if (!admitted) {
      ++refusals;
      if (refused_ != nullptr) refused_(key, question->frames[kAddress]);
    }
    socket_.send(kZapVersion, true);
    socket_.send(question->frames[kRequest], true);
    socket_.send(admitted ? "200" : "400", true);
    socket_.send(admitted ? "" : "This key is not allowed.", true);
    socket_.send(admitted ? key : "", true);  // becomes the user of the peer's messages
    socket_.send("", false);
  }
  return refusals;
}

bool KeyGate::still_admits(const std::string& user) const {
  const auto key = hex_decode(user);
  return key && allowed_->contains(*key);
}

}  // namespace tidemark::rpc
