// Steps and micro-batches as bars, with those of plain packing behind them.
#ifndef EVENPACK_CLIENT_CLI_TOP_STEP_BARS_H_
#define EVENPACK_CLIENT_CLI_TOP_STEP_BARS_H_

#include "client/cli/top/frame_line.h"
#include "client/cli/top/frame_sections.h"

namespace evenpack::v1 {
class ObserveJobResponse;
}

namespace evenpack {

// A line for each step, the last one first: the mean micro-batch's workload, on top of
// it what the slowest takes beyond that, behind both the slowest of the policy
// `original`; then the imbalance of both. All bars have one scale.
FrameSection StepBars(const v1::ObserveJobResponse& observed, const FrameStyle& style);

// The last step that has its micro-batches: a line for each, or where they are many two
// lines with a column for each, or for neighbours together the heaviest.
FrameSection MicroBatchBars(const v1::ObserveJobResponse& observed,
                            const FrameStyle& style);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_TOP_STEP_BARS_H_
