// Jobs, for people and for scripts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_JOB_REPORT_H_
#define EVENPACK_CLIENT_CLI_ONLINE_JOB_REPORT_H_

#include <string>

namespace evenpack::v1 {
class Job;
class ListJobsResponse;
}  // namespace evenpack::v1

namespace evenpack {

// What a job is and how far it has come: figures, a table of its streams, its spec as a
// textproto.
std::string JobText(const v1::Job& job);
// evenpack.v1.Job as message_json.h writes it.
std::string JobJson(const v1::Job& job);
// JobJson where as_json, else JobText.
std::string JobReport(const v1::Job& job, bool as_json);

// A table, one row a job; below it what is broken, or can't be shown since its server
// can't be asked. `listed` as client/cpp/job_list.h leaves it.
std::string JobsText(const v1::ListJobsResponse& listed);
// {jobs: [as JobJson], broken_jobs: [{name, error}]}; each entry has the `address` of
// its server where another one was asked, empty where none leads the job just now.
std::string JobsJson(const v1::ListJobsResponse& listed);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_JOB_REPORT_H_
