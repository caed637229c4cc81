// A store that several servers share. Each job is led by one of them, which alone may
// write it; jobs move from a server that dies, drains, or leads more than its share.
#ifndef EVENPACK_SERVER_STORE_SHARED_STORE_H_
#define EVENPACK_SERVER_STORE_SHARED_STORE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/state_store.h"

namespace evenpack {

// Who leads a job.
struct JobPlace {
  std::string job;
  // HOST:PORT at which clients reach the leader; empty: nobody leads it just now.
  std::string address;
  bool here = false;

  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

// Told by one thread of the store, which waits for it: to be passed on, not done there.
class LeadListener {
 public:
  virtual ~LeadListener() = default;

  // This server leads the job from now on. Load has what the last leader committed, and
  // must be called before the job is written.
  virtual void OnTaken(const std::string& job) = 0;
  // Another server leads it, or OnTaken follows, since another led it meanwhile or the
  // database went back: what this one holds of it is worth nothing. What was not
  // committed never will be; nobody was told of it.
  virtual void OnLost(const std::string& job) = 0;
  // This server leads more than its share: once nothing of the job is left to commit,
  // HandOver is due. At most a few are asked for at once, and no others before these
  // are gone.
  virtual void OnAskedToGive(const std::string& job) = 0;
  // IsCutOff() from now on, until the database is reached again; told anew every 20 s
  // or so meanwhile.
  virtual void OnCutOff() = 0;
  // Another server wrote or removed a cost profile: Profiles() has it.
  virtual void OnProfilesChanged() = 0;
  // This server can lead nothing any more, for good. Last.
  virtual void OnLostAll(const absl::Status& why) = 0;
};

// Thread-safe.
class SharedStore : public StateStore {
 public:
  // From here on this server leads jobs: those that it makes, those that nobody leads
  // up to its share, and those that others hand over. Before any other call; returns
  // when the first of them have been told of. `address`: JobPlace::address.
  // `listener` outlives StepDown.
  virtual absl::Status Join(const std::string& address, LeadListener& listener) = 0;
  // Before a drain: no jobs come any more.
  virtual absl::Status Leave() = 0;
  // Gives a job that this server leads to the one that leads the fewest. Nothing of it
  // is committed from here on, and no OnLost follows. The address of its leader;
  // FAILED_PRECONDITION: there is no other server, or this one doesn't lead the job,
  // and nothing has changed. UNAVAILABLE: the database can't be reached; where the job
  // was given all the same, OnLost follows.
  virtual absl::StatusOr<std::string> HandOver(const std::string& job) = 0;
  // This server leads the job and can't read it, as one of another version may. For as
  // long as others take jobs, it is asked to give this one, and gets none for a while
  // (docs/adr/0111).
  virtual void CannotRead(const std::string& job) = 0;

  // The database has not been reached for so long that, where others do, they lead what
  // this server leads.
  virtual bool IsCutOff() const = 0;
  // Nobody else can lead what this server leads, as it was told: its lease was renewed
  // so lately. Does not wait for a Commit.
  virtual bool IsSureToLead() const = 0;

  // As the database has it at this moment, for which they wait. NOT_FOUND: no such job.
  virtual absl::StatusOr<JobPlace> Locate(const std::string& job) = 0;
  // At most `most` jobs, by name, whose names are above `after`.
  virtual absl::StatusOr<std::vector<JobPlace>> Places(const std::string& after,
                                                       size_t most) = 0;

  // Jobs() and Load() are of the jobs that this server leads; Load of another is
  // ABORTED. A Commit that makes a job whose name is taken anywhere is ALREADY_EXISTS;
  // one that writes a job that another server leads, or that was taken and not read
  // yet, is ABORTED, and other jobs go on. Cost profiles may be written by any server.
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_SHARED_STORE_H_
