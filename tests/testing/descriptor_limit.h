// Few descriptors for a process, as where clients have taken the others.
#ifndef EVENPACK_TESTS_TESTING_DESCRIPTOR_LIMIT_H_
#define EVENPACK_TESTS_TESTING_DESCRIPTOR_LIMIT_H_

#include <sys/resource.h>

namespace evenpack::testing {

// Of the process, until the test ends.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t descriptors) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lowered{descriptors, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_DESCRIPTOR_LIMIT_H_
