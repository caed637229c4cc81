// What `evenpackctl top` shows, as lines of a terminal.
#ifndef EVENPACK_CLIENT_CLI_TOP_TOP_FRAMES_H_
#define EVENPACK_CLIENT_CLI_TOP_TOP_FRAMES_H_

#include <string>
#include <vector>

#include "client/cli/top/frame_line.h"

namespace evenpack::v1 {
class ListJobsResponse;
class ObserveJobResponse;
}  // namespace evenpack::v1

namespace evenpack {

// A job: imbalance beside that of plain packing, its last steps, the micro-batches of
// the last one, queues, delays, subscribers. A pure function of both.
std::vector<std::string> JobFrame(const v1::ObserveJobResponse& observed,
                                  const FrameStyle& style);

// The server's jobs, as far as there are rows.
std::vector<std::string> JobsFrame(const v1::ListJobsResponse& jobs,
                                   const FrameStyle& style);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_TOP_FRAMES_H_
