// Two of Gloo's pointers: their sizes, which its headers of TCP need. The build has it
// in place of gloo/common/memory.h, which Debian's package leaves out, where the system
// has none.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_POINTERS_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_POINTERS_H_

#include <memory>

namespace gloo {

template <typename Value>
class WeakNonOwningPtr {
 private:
  std::weak_ptr<Value> value_;
};

template <typename Value>
class NonOwningPtr {
 private:
  std::shared_ptr<Value> value_;
};

}  // namespace gloo

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_POINTERS_H_
