// All that a cuDNN tells before it is refused for its age.
#include <cstddef>
#include <thread>

extern "C" size_t cudnnGetVersion() {
  // So that other threads come meanwhile.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  return 91700;
}
