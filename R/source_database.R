# Sources for databases: a DBI connection with a table or a query, or a lazy table of dbplyr.

database_source <- function(con, table, query, call = caller_env()) {
  need_package("DBI", "A table of a database", call)
  if (is.null(table) == is.null(query)) {
    stop_kernops("input", c("A connection needs either a {.arg table} or a {.arg query}.",
                            i = "{.code gp_table(connection, table = \"name\")} is such a table."), call = call)
  }
  if (!is.null(query)) check_text(query, "query", one = TRUE)
  from <- if (is.null(query)) as.character(DBI::dbQuoteIdentifier(con, table)) else {
    paste0("(", sub(";\\s*$", "", query), ") kernops_rows")
  }
  what <- if (is.null(query)) paste("the table", from) else "the query"
  ask <- function(...) reading(what, DBI::dbGetQuery(con, paste("SELECT", ..., collapse = " ")), call)
  columns <- names(ask("* FROM", from, "WHERE 1 = 0"))
  rows <- as.numeric(ask("COUNT(*) AS n FROM", from)[[1]])
  new_source(
    kind = paste(what, "of a database"), columns = columns, rows = rows, stamp = c(class(con), from, rows),
    scan = function(columns, size, visit) {
      quoted <- toString(as.character(DBI::dbQuoteIdentifier(con, columns)))
      result <- reading(what, DBI::dbSendQuery(con, paste("SELECT", quoted, "FROM", from)))
      on.exit(DBI::dbClearResult(result))
      repeat {
        chunk <- reading(what, DBI::dbFetch(result, n = size))
        if (!nrow(chunk)) break
        visit(chunk)
      }
    }
  )
}

lazy_table_source <- function(x, call = caller_env()) {
  need_package("dbplyr", "A lazy table", call)
  query <- reading("the lazy table", as.character(dbplyr::sql_render(x)), call)
  source <- database_source(dbplyr::remote_con(x), NULL, query, call)
  replace(source, "kind", "a lazy table of a database")
}
