#include "tests/server/store/held_transaction.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace evenpack::testing {
namespace {

bool Send(pg_conn* connection, const std::string& statement) {
  return PQsendQueryParams(connection, statement.c_str(), 0, nullptr, nullptr, nullptr,
                           nullptr, 0) == 1;
}

}  // namespace

void HeldTransaction::Close::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

HeldTransaction::HeldTransaction(const std::string& target,
                                 const std::vector<std::string>& statements,
                                 size_t awaited)
    : connection_(PQconnectdb(target.c_str())) {
  pg_conn* const connection = connection_.get();
  bool sent = PQenterPipelineMode(connection) == 1 && Send(connection, "BEGIN");
  for (size_t i = 0; i < statements.size(); ++i) {
    // Answers come as far as they are asked for.
    if (i == awaited) sent = sent && PQsendFlushRequest(connection) == 1;
    sent = sent && Send(connection, statements[i]);
  }
  sent = sent && PQsendFlushRequest(connection) == 1 && PQflush(connection) == 0;
  EXPECT_TRUE(sent) << PQerrorMessage(connection);
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
