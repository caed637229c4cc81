// Addresses within a tensor.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_BYTES_AFTER_H_
#define EVENPACK_GPU_WORKER_ATTENTION_BYTES_AFTER_H_

#include <cstddef>

namespace evenpack::worker {

// Null where `data` is, as of a rank without a token.
inline const void* BytesAfter(const void* data, size_t bytes) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + bytes;
}
inline void* BytesAfter(void* data, size_t bytes) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + bytes;
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_BYTES_AFTER_H_
