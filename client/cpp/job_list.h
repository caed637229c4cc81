// The jobs of all servers of a database, as one list.
#ifndef EVENPACK_CLIENT_CPP_JOB_LIST_H_
#define EVENPACK_CLIENT_CPP_JOB_LIST_H_

#include "client/cpp/api_messages.h"
#include "client/cpp/stub.h"

namespace evenpack::client {

// Asks, by one GetJob each, for the jobs that other servers lead, and puts them in
// their place in `listed.jobs`. Those that can't be had are in `broken_jobs`, with why;
// `led_elsewhere` stays as it is, so that it says which of the broken ones these are. A
// server that can't be reached is not asked for a second job.
void AddJobsLedElsewhere(Stub& stub, const CallOptions& options,
                         v1::ListJobsResponse& listed);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_JOB_LIST_H_
