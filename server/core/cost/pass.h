// The two passes of training.
#ifndef EVENPACK_SERVER_CORE_COST_PASS_H_
#define EVENPACK_SERVER_CORE_COST_PASS_H_

#include <cstdint>

namespace evenpack {

enum class Pass : uint8_t { kForward, kBackward };

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_PASS_H_
