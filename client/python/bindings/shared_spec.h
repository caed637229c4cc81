// A job's spec as its steps share it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_SPEC_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_SPEC_H_

#include <memory>

#include "evenpack/v1/job.pb.h"

namespace evenpack::python {

struct SharedSpec {
  std::shared_ptr<const v1::JobSpec> spec;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_SPEC_H_
