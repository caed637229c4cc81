// How many descriptors a process may have.
#ifndef EVENPACK_SERVER_RUNTIME_DESCRIPTOR_LIMIT_H_
#define EVENPACK_SERVER_RUNTIME_DESCRIPTOR_LIMIT_H_

namespace evenpack {

// From the soft limit, which is 1,024 under systemd and many container runtimes for the
// sake of programs that call select(), to the hard one. Where that is refused all stays
// as it is.
void RaiseDescriptorLimit();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_DESCRIPTOR_LIMIT_H_
