// What every part of the policy `balanced` is told of the step that it helps to form.
#ifndef EVENPACK_SERVER_CORE_PACKING_STEP_TERMS_H_
#define EVENPACK_SERVER_CORE_PACKING_STEP_TERMS_H_

#include <cstddef>
#include <cstdint>

#include "server/core/packing/capacity.h"
#include "server/core/packing/delay_price.h"

namespace evenpack {

struct StepTerms {
  size_t micro_batches = 1;
  Capacity capacity;
  // Tokens, padding of documents included, that the step has at least, as far as there
  // are so many.
  uint64_t least_tokens = 1;
  DelayPrice price;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_STEP_TERMS_H_
