#include "server/service/subscribed_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"

namespace evenpack {
namespace {

using SpecPointer = std::shared_ptr<const JobSpec>;

// What stands before a field that is a message of so many bytes.
std::string Header(int field, size_t bytes) {
  constexpr uint32_t kLengthDelimited = 2;
  std::string header;
  {
    google::protobuf::io::StringOutputStream stream(&header);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteTag((static_cast<uint32_t>(field) << 3U) | kLengthDelimited);
    coded.WriteVarint64(bytes);
  }
  return header;
}

std::string WithoutSpec(const Subscribed& subscribed) {
  v1::Subscribed message;
  message.set_epoch(subscribed.epoch);
  message.set_from_step(subscribed.from_step);
  message.set_previous_digest(DigestBytes(subscribed.previous_digest));
  message.set_durable_steps(subscribed.durable_steps);
  return message.SerializeAsString();
}

// Its description is an evenpack.v1.JobSpec.
grpc::Slice DescriptionOf(const SpecPointer& spec) {
  const std::string& bytes = spec->description;
  // gRPC's slices of memory that it doesn't own are not const; it writes to none.
  return {const_cast<char*>(bytes.data()), bytes.size(),
          [](void* held) { delete static_cast<SpecPointer*>(held); },
          new SpecPointer(spec)};
}

}  // namespace

grpc::ByteBuffer EncodeSubscribed(const Subscribed& subscribed) {
  const size_t bytes = subscribed.spec->description.size();
  std::string inner = WithoutSpec(subscribed);
  inner += Header(v1::Subscribed::kSpecFieldNumber, bytes);
  const std::string head =
      Header(v1::StreamStepsResponse::kSubscribedFieldNumber, inner.size() + bytes);
  const std::array<grpc::Slice, 2> slices = {grpc::Slice(head + inner),
                                             DescriptionOf(subscribed.spec)};
  return {slices.data(), slices.size()};
}

}  // namespace evenpack
