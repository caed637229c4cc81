// Random numbers for all that one client opens.
#ifndef EVENPACK_CLIENT_CPP_SHARED_RANDOM_H_
#define EVENPACK_CLIENT_CPP_SHARED_RANDOM_H_

#include <functional>

namespace evenpack::client {

// Draws from [0, 1), from `random`, or where that is empty from a generator that the
// operating system seeded. Thread-safe. Copies draw from the same generator: sessions
// whose numbers were alike would all wait as long, and come back together.
std::function<double()> SharedRandom(std::function<double()> random = {});

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SHARED_RANDOM_H_
