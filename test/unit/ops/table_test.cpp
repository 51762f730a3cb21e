#include <rdmanet/ops/table.hpp>

#include <catch2/catch.hpp>

using rdmanet::ops::Table;

TEST_CASE("a column is as wide as its widest cell, the last one has no trailing space, and no cell is empty") {
    Table table({"A", "LONGER", "C"});
    table.add_row({"wide cell", "x", "last"});
    table.add_row({"y", "z", "l"});
    CHECK(table.to_text() == "A          LONGER  C\n"
                             "wide cell  x       last\n"
                             "y          z       l\n");
    Table empty({"A", "B"});
    CHECK(empty.to_text() == "A  B\n");
    empty.add_row({"", ""});
    CHECK(empty.to_text() == "A  B\n-  -\n"); // so that columns can be counted
}
