// The messages of evenpack.v1 that this library's headers name. Who reads or fills one
// includes the generated header it comes from ("evenpack/v1/job.pb.h", "step.pb.h",
// "cost_profile.pb.h", "packing_service.pb.h"), which costs a second of compilation.
#ifndef EVENPACK_CLIENT_CPP_API_MESSAGES_H_
#define EVENPACK_CLIENT_CPP_API_MESSAGES_H_

namespace evenpack::v1 {

enum Layout : int;
class Job;
class JobSpec;
class MicroBatch;
class RankSlices;
class ShardPlan;
class Step;

class AcknowledgeRequest;
class AcknowledgeResponse;
class CostProfile;
class CreateJobRequest;
class CreateJobResponse;
class DeleteCostProfileRequest;
class DeleteCostProfileResponse;
class DeleteJobRequest;
class DeleteJobResponse;
class DocumentBatch;
class ForkJobRequest;
class ForkJobResponse;
class GetCostProfileRequest;
class GetCostProfileResponse;
class GetJobRequest;
class GetJobResponse;
class CheckpointJobRequest;
class CheckpointJobResponse;
class GetLatencyRequest;
class GetLatencyResponse;
class GetStepRequest;
class GetStepResponse;
class RestoreJobRequest;
class RestoreJobResponse;
class RewindJobRequest;
class RewindJobResponse;
class SkipDocumentsRequest;
class SkipDocumentsResponse;
class IngestRequest;
class IngestResponse;
class JoinGroupRequest;
class JoinGroupResponse;
class ListCostProfilesRequest;
class ListCostProfilesResponse;
class ListJobsRequest;
class ListJobsResponse;
class ObserveJobRequest;
class ObserveJobResponse;
class ObserveMicroBatchRequest;
class ObserveMicroBatchResponse;
class PutCostProfileRequest;
class PutCostProfileResponse;
class ReportLatencyRequest;
class ReportLatencyResponse;
class StreamStepsRequest;
class StreamStepsResponse;
class Subscribed;
class UpdateJobRequest;
class UpdateJobResponse;

}  // namespace evenpack::v1

#endif  // EVENPACK_CLIENT_CPP_API_MESSAGES_H_
