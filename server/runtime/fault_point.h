// Places at which a test can let the process die as in a crash: tests/fault.
//
//   FaultPoint("commit.before");
//
// A process that was started with EVENPACK_KILL_AT=NAME:COUNT dies by SIGKILL when it
// passes the point of that name for the COUNT-th time, counted from 1; with a value of
// another form it aborts at the first point and says so. Builds without the CMake
// option EVENPACK_FAULT_POINTS, as that of the preset `release`, have no such places.
#ifndef EVENPACK_SERVER_RUNTIME_FAULT_POINT_H_
#define EVENPACK_SERVER_RUNTIME_FAULT_POINT_H_

#include <string_view>

namespace evenpack {

#ifdef EVENPACK_FAULT_POINTS
// Thread-safe. One name has one place, since tests find the names in the sources.
void FaultPoint(std::string_view name);
#else
inline void FaultPoint(std::string_view) {}
#endif

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_FAULT_POINT_H_
