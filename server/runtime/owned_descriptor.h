// A file descriptor that has an owner.
#ifndef EVENPACK_SERVER_RUNTIME_OWNED_DESCRIPTOR_H_
#define EVENPACK_SERVER_RUNTIME_OWNED_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace evenpack {

// Closed with its owner; -1: none.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~OwnedDescriptor() { Close(); }
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    Close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }

  int get() const { return descriptor_; }

 private:
  void Close() const {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_OWNED_DESCRIPTOR_H_
