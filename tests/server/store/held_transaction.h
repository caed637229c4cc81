// A server's transaction that stops in its midst.
#ifndef EVENPACK_TESTS_SERVER_STORE_HELD_TRANSACTION_H_
#define EVENPACK_TESTS_SERVER_STORE_HELD_TRANSACTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct pg_conn;

namespace evenpack::testing {

class HeldTransaction {
 public:
  // BEGIN and these statements, as a server sends them: together, and more to follow.
  // Returns once `awaited` of the statements are carried out; nothing follows.
  HeldTransaction(const std::string& target, const std::vector<std::string>& statements,
                  size_t awaited);
  // That PostgreSQL has for it.
  int process() const;
  // Whether the database still has it.
  bool Lives();

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_HELD_TRANSACTION_H_
