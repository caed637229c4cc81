#include "server/store/postgresql_page.h"

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// `wanted`: of what is `known` of each row.
std::string PageOf(const char* wanted, const char* known, const OrderedRows& rows) {
  return absl::StrCat(
      "SELECT ", wanted, " FROM (SELECT *, sum(octet_length(bytes)) OVER (ORDER BY ",
      rows.order, ") - octet_length(bytes) AS before FROM (SELECT ", known, " FROM ",
      rows.table, " WHERE ", rows.where, " ORDER BY ", rows.order, " LIMIT ",
      kPostgresqlPageRows, ") AS next) AS page WHERE before < ", kPostgresqlPageBytes,
      " ORDER BY ", rows.order);
}

}  // namespace

std::string SelectPage(const char* columns, const OrderedRows& rows) {
  return PageOf(columns, "*", rows);
}

std::string DeletePage(const OrderedRows& rows) {
  // Found by their places in the table, which can't change meanwhile without the row
  // being found changed.
  return absl::StrCat("WITH removed AS (DELETE FROM ", rows.table,
                      " WHERE ctid = ANY (ARRAY(", PageOf("id", "ctid AS id, *", rows),
                      ")) RETURNING 1) SELECT count(*) FROM removed");
}

}  // namespace evenpack
