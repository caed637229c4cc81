// Process 1 of a container, for which the kernel has no default of what a signal does:
// one that it has no handler of does nothing, Ctrl-C among them.
#ifndef EVENPACK_SERVER_RUNTIME_FIRST_PROCESS_H_
#define EVENPACK_SERVER_RUNTIME_FIRST_PROCESS_H_

#include <optional>

namespace evenpack {

// Before there are threads. Where this is process 1 the program goes on in a child, to
// which it hands on SIGHUP, SIGINT, SIGQUIT and SIGTERM; those of a terminal the child
// has by itself. Returns in the child, and in any other process, with none; in process
// 1 once the child has ended, with what is to be the exit status: the child's, or 128
// and the signal that ended it. Where there can be no child: none.
std::optional<int> LeaveFirstProcess();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_FIRST_PROCESS_H_
