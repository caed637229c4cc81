#include "client/cli/simulation/figures_json.h"

#include "client/cli/json_text.h"

namespace evenpack {

Json FiguresJson(const SimulationFigures& figures) {
  const PackFigures& packing = figures.packing;
  return {{"step_seconds", figures.step_seconds},
          {"bound_seconds", figures.bound_seconds},
          {"bound_share", figures.bound_seconds / figures.step_seconds},
          {"bubble", figures.bubble},
          {"exposed_communication",
           figures.exposed_communication_seconds / figures.step_seconds},
          {"excess",
           {{"packing_seconds", figures.packing_seconds},
            {"cp_sharding_seconds", figures.cp_sharding_seconds},
            {"pipeline_seconds", figures.pipeline_seconds},
            {"communication_seconds", figures.communication_seconds}}},
          {"pp_imbalance", figures.pp_imbalance},
          {"cp_imbalance", figures.cp_imbalance},
          {"gpu_imbalance", figures.gpu_imbalance},
          {"gpu_attention_imbalance", figures.gpu_attention_imbalance},
          {"longest_micro_batch", figures.longest_micro_batch},
          {"in_flight_tokens", figures.in_flight_tokens},
          {"per_document_share", figures.per_document_share},
          {"plan_bytes", figures.plan_bytes},
          {"steps", figures.steps},
          {"token_delay_mean", packing.token_delay_mean},
          {"document_delay_max", packing.document_delay.max},
          {"tokens_per_step_cv", packing.tokens_per_step.has_value()
                                     ? Json(packing.tokens_per_step->cv)
                                     : Json(nullptr)},
          {"decide_seconds", packing.decide.mean}};
}

Json SetupJson(const SimulationSetup& setup) {
  const ClusterSpec& cluster = setup.cluster;
  return {{"config", setup.name},
          {"model", setup.model.name},
          {"gpus", GpuCount(cluster)},
          {"tensor_parallel", cluster.tensor_parallel},
          {"context_parallel", cluster.context_parallel},
          {"pipeline_parallel", cluster.pipeline_parallel},
          {"data_parallel", cluster.data_parallel},
          {"expert_parallel", cluster.expert_parallel},
          {"virtual_stages", cluster.virtual_stages},
          {"sync_domain",
           cluster.sync_domain == SyncDomain::kStep ? "step" : "micro_batch"},
          {"micro_batches", setup.micro_batches},
          {"window", setup.window},
          {"max_length", setup.max_length}};
}

Json HybridJson(const HybridRule& rule) {
  return {{"token_tolerance_ppm", rule.token_tolerance_ppm},
          {"token_ps", rule.token_ps},
          {"cut_token_ps", rule.cut_token_ps}};
}

Json CorpusJson(const Corpus& corpus) {
  return {{"documents", corpus.documents},
          {"tokens", corpus.tokens},
          {"documents_over_window", corpus.documents_over_window},
          {"tokens_over_window", corpus.tokens_over_window}};
}

}  // namespace evenpack
