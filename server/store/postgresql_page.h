// Parts of a table that come, or go, well within the time that a statement may take,
// and take little memory: docs/adr/0135.
#ifndef EVENPACK_SERVER_STORE_POSTGRESQL_PAGE_H_
#define EVENPACK_SERVER_STORE_POSTGRESQL_PAGE_H_

#include <cstdint>
#include <string>

namespace evenpack {

// A page is about so many bytes, or so many rows. Lengths are known without reading the
// bytes.
inline constexpr int64_t kPostgresqlPageBytes = 8 << 20;
inline constexpr int kPostgresqlPageRows = 1000;

// Rows of a table with a column `bytes`, in the order of others; `where` may have
// parameters.
struct OrderedRows {
  const char* table;
  const char* order;
  const char* where;
};

// The statement that reads `columns` of their first page, in order.
std::string SelectPage(const char* columns, const OrderedRows& rows);
// The statement that removes it, and says in a row of one column how many that were.
std::string DeletePage(const OrderedRows& rows);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_STORE_POSTGRESQL_PAGE_H_
