// A process that the system refuses every further thread.
#ifndef EVENPACK_TESTS_TESTING_REFUSED_THREADS_H_
#define EVENPACK_TESTS_TESTING_REFUSED_THREADS_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace evenpack::testing {

// While it lives a thread would have a stack of more than there are addresses.
class RefusedThreads {
 public:
  RefusedThreads() {
    constexpr size_t kAllAddresses = size_t{1} << 47;
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, kAllAddresses), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~RefusedThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;

 private:
  pthread_attr_t before_ = {};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_REFUSED_THREADS_H_
