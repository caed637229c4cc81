// Subscriptions to a session of a job under test.
#ifndef EVENPACK_TESTS_SERVER_SESSIONS_SUBSCRIPTION_FIXTURE_H_
#define EVENPACK_TESTS_SERVER_SESSIONS_SUBSCRIPTION_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "server/sessions/subscription_table.h"
#include "tests/server/sessions/session_rig.h"

namespace evenpack::testing {

using SubscriptionPointer = std::shared_ptr<Subscription>;

class SubscriptionFixture : public ::testing::Test {
 protected:
  SubscriptionPointer Add(const SubscribeRequest& request) {
    return table_.Add(request, std::make_shared<NullSubscriber>(), rig_.view()).value();
  }
  SubscriptionPointer Add(uint32_t dp_rank, std::optional<uint32_t> cp_rank,
                          const std::string& subscriber, bool sends_durable) {
    SubscribeRequest request;
    request.dp_rank = dp_rank;
    request.cp_rank = cp_rank;
    request.subscriber = subscriber;
    request.sends_durable = sends_durable;
    return Add(request);
  }
  NextMessage Next(const SubscriptionPointer& subscription) {
    return table_.Next(*subscription, rig_.view());
  }

  SessionRig rig_;
  SubscriptionTable table_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SESSIONS_SUBSCRIPTION_FIXTURE_H_
