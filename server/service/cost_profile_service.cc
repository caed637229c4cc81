#include "server/service/cost_profile_service.h"

#include <grpcpp/grpcpp.h>

#include "evenpack/v1/cost_profile.grpc.pb.h"
#include "server/service/cost_profile_calls.h"
#include "server/service/unary_answer.h"

namespace evenpack {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

class CostProfileService final : public v1::CostProfileService::CallbackService {
 public:
  explicit CostProfileService(const ServiceEnvironment& environment)
      : environment_(environment) {}

  Unary* PutCostProfile(Context* context, const v1::PutCostProfileRequest* request,
                        v1::PutCostProfileResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* GetCostProfile(Context* context, const v1::GetCostProfileRequest* request,
                        v1::GetCostProfileResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ListCostProfiles(Context* context, const v1::ListCostProfilesRequest* request,
                          v1::ListCostProfilesResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* DeleteCostProfile(Context* context,
                           const v1::DeleteCostProfileRequest* request,
                           v1::DeleteCostProfileResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }

 private:
  const ServiceEnvironment environment_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCostProfileService(
    const ServiceEnvironment& environment) {
  return std::make_unique<CostProfileService>(environment);
}

}  // namespace evenpack
