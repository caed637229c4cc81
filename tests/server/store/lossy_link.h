// A TCP connection that breaks at the worst moment: a forwarder before a server of this
// machine.
#ifndef EVENPACK_TESTS_SERVER_STORE_LOSSY_LINK_H_
#define EVENPACK_TESTS_SERVER_STORE_LOSSY_LINK_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe. Ends all connections when it ends.
class LossyLink {
 public:
  enum class Loss : uint8_t {
    kNone,
    // The request arrives, its answer doesn't.
    kAnswer,
    // The request doesn't arrive.
    kRequest,
    // The client's connection ends; the request arrives once Deliver is called.
    kDelay,
  };

  // Forwards to a port of the loopback interface.
  explicit LossyLink(int port);
  ~LossyLink();
  LossyLink(const LossyLink&) = delete;
  LossyLink& operator=(const LossyLink&) = delete;

  int port() const { return port_; }
  // Chunks that came from clients so far.
  int requests() const { return requests_; }
  // What becomes of the next chunk to the server that holds `mark`, and its connection.
  // `cuts`: all others end with it, and no more work until Heal.
  void Lose(Loss loss, std::string mark, bool cuts = false);
  void Heal() { cut_ = false; }
  // Lets what was delayed arrive; returns once the server has answered or hung up.
  void Deliver();

 private:
  void Accept();
  void Forward(int client);
  // False where the connection is to end.
  bool PassRequest(int client, int server);
  static bool PassAnswer(int client, int server);
  Loss LossOf(const std::string& chunk);

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> cut_ = false;
  std::atomic<int> requests_ = 0;
  Mutex mutex_;
  CondVar changed_;
  Loss loss_ EVENPACK_GUARDED_BY(mutex_) = Loss::kNone;
  std::string mark_ EVENPACK_GUARDED_BY(mutex_);
  bool cuts_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool delivers_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool delivered_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> connections_;
  std::thread accepting_;  // last, since it uses the others
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_LOSSY_LINK_H_
