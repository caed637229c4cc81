// A step, and a micro-batch of one, as the message that it came in, for another
// process.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_STEP_MESSAGE_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_STEP_MESSAGE_H_

#include "client/cpp/micro_batch_view.h"
#include "client/cpp/rank_step.h"
#include "evenpack/v1/step.pb.h"

namespace evenpack::python {

// RankStep::FromMessage of it is the same step.
v1::Step MessageOf(const client::RankStep& step);
// MicroBatchView::FromMessage of it, with the view's layout, is the same view.
v1::MicroBatch MessageOf(const client::MicroBatchView& view);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_STEP_MESSAGE_H_
