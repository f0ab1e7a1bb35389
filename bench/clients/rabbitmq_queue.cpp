// AMQP 0.9.1 by librabbitmq: a durable queue, persistent messages, publisher confirms, one unacknowledged delivery a
// consumer. Publisher and consumer have a connection each, as RabbitMQ advises. An acknowledgement of a delivery has no
// answer in AMQP: it promises less than the deletes of the others, and costs no round trip.
#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <cstdlib>

#include "bench/clients/message_queue.h"

namespace tidemark::bench {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr int kFrameMax = 131072;
constexpr int kPersistent = 2;

amqp_bytes_t bytes_of(std::string_view text) { return {.len = text.size(), .bytes = const_cast<char*>(text.data())}; }

void check(amqp_rpc_reply_t reply, const char* what) {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) fail(what);
}

amqp_connection_state_t open_connection(const Target& target) {
  amqp_connection_state_t connection = amqp_new_connection();
  amqp_socket_t* socket = amqp_tcp_socket_new(connection);
  if (amqp_socket_open(socket, "127.0.0.1", std::atoi(target.port.c_str())) != AMQP_STATUS_OK) fail("cannot connect");
  check(amqp_login(connection, "/", 0, kFrameMax, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"), "login");
  amqp_channel_open(connection, kChannel);
  check(amqp_get_rpc_reply(connection), "channel.open");
  return connection;
}

class RabbitQueue final : public MessageQueue {
 public:
  explicit RabbitQueue(const Target& target)
      : queue_(target.queue), publisher_(open_connection(target)), consumer_(open_connection(target)) {
    const int durable = 1;
    amqp_queue_declare(publisher_, kChannel, bytes_of(queue_), 0, durable, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(publisher_), "queue.declare");
    amqp_confirm_select(publisher_, kChannel);
    check(amqp_get_rpc_reply(publisher_), "confirm.select");
  }
  ~RabbitQueue() override {
    amqp_destroy_connection(publisher_);
    amqp_destroy_connection(consumer_);
  }
  RabbitQueue(const RabbitQueue&) = delete;
  RabbitQueue& operator=(const RabbitQueue&) = delete;

  void put(std::string_view text) override {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties.delivery_mode = kPersistent;
    const int published =
        amqp_basic_publish(publisher_, kChannel, amqp_empty_bytes, bytes_of(queue_), 0, 0, &properties, bytes_of(text));
    if (published != AMQP_STATUS_OK) fail("basic.publish");
    amqp_frame_t frame;
    amqp_maybe_release_buffers(publisher_);
    if (amqp_simple_wait_frame(publisher_, &frame) != AMQP_STATUS_OK) fail("waiting for a confirm");
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) fail("no confirm");
  }

  std::optional<std::string> take(int wait_s) override {
    if (!consuming_) consume();
    amqp_maybe_release_buffers(consumer_);
    timeval limit{.tv_sec = wait_s > 0 ? wait_s : 30, .tv_usec = 0};
    amqp_envelope_t envelope;
    const auto reply = amqp_consume_message(consumer_, &envelope, &limit, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && reply.library_error == AMQP_STATUS_TIMEOUT)
      return std::nullopt;
    check(reply, "basic.consume");
    tag_ = envelope.delivery_tag;
    std::string text(static_cast<const char*>(envelope.message.body.bytes), envelope.message.body.len);
    amqp_destroy_envelope(&envelope);
    return text;
  }

  void remove() override {
    if (amqp_basic_ack(consumer_, kChannel, tag_, 0) != AMQP_STATUS_OK) fail("basic.ack");
  }

 private:
  void consume() {
    amqp_basic_qos(consumer_, kChannel, 0, 1, 0);
    check(amqp_get_rpc_reply(consumer_), "basic.qos");
    amqp_basic_consume(consumer_, kChannel, bytes_of(queue_), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(consumer_), "basic.consume");
    consuming_ = true;
  }

  std::string queue_;
  amqp_connection_state_t publisher_;
  amqp_connection_state_t consumer_;
  std::uint64_t tag_ = 0;
  bool consuming_ = false;
};

}  // namespace

std::unique_ptr<MessageQueue> connect_rabbitmq(const Target& target) { return std::make_unique<RabbitQueue>(target); }

}  // namespace tidemark::bench
