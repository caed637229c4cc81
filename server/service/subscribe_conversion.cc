#include "server/service/subscribe_conversion.h"

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/service/layout_names.h"

namespace evenpack {

absl::StatusOr<SubscribeRequest> FromProto(const v1::Subscribe& from) {
  SubscribeRequest request;
  request.dp_rank = from.dp_rank();
  if (from.has_cp_rank()) request.cp_rank = from.cp_rank();
  request.subscriber = from.subscriber();
  request.sends_durable = from.sends_durable();
  if (from.has_from_step()) request.from_step = from.from_step();
  if (!from.last_digest().empty()) {
    request.last_digest = DigestFromBytes(from.last_digest());
    if (!request.last_digest.has_value()) {
      return InvalidField("last_digest",
                          absl::StrCat(from.last_digest().size(), " bytes"),
                          "16 bytes or none");
    }
  }
  if (from.credits() != 0) request.credits = from.credits();
  if (from.has_last_epoch()) request.last_epoch = from.last_epoch();
  if (from.has_epoch()) request.epoch = from.epoch();
  if (from.layout() != v1::LAYOUT_UNSPECIFIED) {
    request.layout = FromProto(from.layout());
    if (!request.layout.has_value()) {
      return InvalidField("layout", from.layout(), "the values of evenpack.v1.Layout");
    }
  }
  return request;
}

}  // namespace evenpack
