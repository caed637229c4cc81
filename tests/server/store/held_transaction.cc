#include "tests/server/store/held_transaction.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace evenpack::testing {

void HeldTransaction::Close::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

HeldTransaction::HeldTransaction(const std::string& target,
                                 const std::vector<std::string>& statements,
                                 size_t awaited)
    : connection_(PQconnectdb(target.c_str())) {
  pg_conn* const connection = connection_.get();
  EXPECT_EQ(PQstatus(connection), CONNECTION_OK) << PQerrorMessage(connection);
  EXPECT_EQ(PQenterPipelineMode(connection), 1);
  const auto send = [connection](const char* statement) {
    EXPECT_EQ(PQsendQueryParams(connection, statement, 0, nullptr, nullptr, nullptr,
                                nullptr, 0),
              1);
  };
  send("BEGIN");
  for (size_t i = 0; i < statements.size(); ++i) {
    // Answers come as far as they are asked for.
    if (i == awaited) {
      EXPECT_EQ(PQsendFlushRequest(connection), 1);
    }
    send(statements[i].c_str());
  }
  EXPECT_EQ(PQsendFlushRequest(connection), 1);
  EXPECT_EQ(PQflush(connection), 0);
  // Of each a result, and a null behind it.
  for (size_t answer = 0; answer < 2 * (1 + awaited); ++answer) {
    pg_result* const result = PQgetResult(connection);
    if (result == nullptr) continue;
    EXPECT_LE(PQresultStatus(result), PGRES_TUPLES_OK) << PQresultErrorMessage(result);
    PQclear(result);
  }
}

int HeldTransaction::process() const { return PQbackendPID(connection_.get()); }

bool HeldTransaction::Lives() {
  return PQconsumeInput(connection_.get()) == 1 &&
         PQstatus(connection_.get()) == CONNECTION_OK;
}

}  // namespace evenpack::testing
