// Whether anybody is left at the other end.
#ifndef EVENPACK_SERVER_RUNTIME_HUNG_UP_H_
#define EVENPACK_SERVER_RUNTIME_HUNG_UP_H_

namespace evenpack {

// Whether a stream socket's other end was closed, reset or shut down, or this one was,
// or it is none. What was sent before may still be unread. Thread-safe.
bool HasHungUp(int socket);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_HUNG_UP_H_
