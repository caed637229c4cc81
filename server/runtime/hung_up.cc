#include "server/runtime/hung_up.h"

#include <poll.h>

namespace evenpack {

bool HasHungUp(int socket) {
  // Errors and hang-ups are told of whether asked for or not.
  pollfd polled{socket, POLLRDHUP, 0};
  return poll(&polled, 1, 0) == 1;
}

}  // namespace evenpack
