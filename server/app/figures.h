// What the exporter reads, gathered from the rooms.
#ifndef EVENPACK_SERVER_APP_FIGURES_H_
#define EVENPACK_SERVER_APP_FIGURES_H_

#include <vector>

#include "server/app/server_security.h"
#include "server/control/committer.h"
#include "server/control/directory.h"
#include "server/control/job_moves.h"
#include "server/control/job_registry.h"
#include "server/metrics/figures_source.h"
#include "server/service/live_calls.h"
#include "server/service/quota.h"
#include "server/service/service_environment.h"
#include "server/store/state_store.h"

namespace evenpack {

// Thread-safe. All that it reads outlives it; `security` may be null.
class Figures final : public FiguresSource {
 public:
  // `moves` and `directory`: null where no other server has the store.
  Figures(const JobRegistry& jobs, const Committer& committer, const StateStore& store,
          const StreamCalls& calls, const ErrorCounts& errors, const Quotas& quotas,
          const ServerSecurity* security, const JobMoves* moves = nullptr,
          const Directory* directory = nullptr)
      : jobs_(jobs),
        committer_(committer),
        store_(store),
        calls_(calls),
        errors_(errors),
        quotas_(quotas),
        security_(security),
        moves_(moves),
        directory_(directory) {}

  std::vector<JobFigures> Jobs() const override;
  ServerFigures Server() const override;

 private:
  const JobRegistry& jobs_;
  const Committer& committer_;
  const StateStore& store_;
  const StreamCalls& calls_;
  const ErrorCounts& errors_;
  const Quotas& quotas_;
  const ServerSecurity* const security_;
  const JobMoves* const moves_;
  const Directory* const directory_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_FIGURES_H_
