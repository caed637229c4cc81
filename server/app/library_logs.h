// What gRPC and protobuf log, as lines of this program's log.
#ifndef EVENPACK_SERVER_APP_LIBRARY_LOGS_H_
#define EVENPACK_SERVER_APP_LIBRARY_LOGS_H_

namespace evenpack {

// From now on, for the whole process. After StartLog, before any thread starts.
void TakeLibraryLogs();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_LIBRARY_LOGS_H_
