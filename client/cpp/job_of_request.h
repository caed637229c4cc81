// The job that a call is about.
#ifndef EVENPACK_CLIENT_CPP_JOB_OF_REQUEST_H_
#define EVENPACK_CLIENT_CPP_JOB_OF_REQUEST_H_

#include <string>

namespace google::protobuf {
class Message;
}

namespace evenpack::client {

// Of any request of evenpack.v1.PackingService, or the first message of a stream; empty
// where it names none. Of a request of the other services some name that is no job's.
std::string JobOfRequest(const google::protobuf::Message& request);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_JOB_OF_REQUEST_H_
