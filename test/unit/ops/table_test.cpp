#include <rdmanet/ops/table.hpp>

#include <catch2/catch.hpp>

using rdmanet::ops::Table;

TEST_CASE("a column is as wide as its widest cell, and the last one has no trailing space") {
    Table table({"A", "LONGER", "C"});
    table.add_row({"wide cell", "x", "last"});
    table.add_row({"y", "z", "l"});
    CHECK(table.to_text() == "A          LONGER  C\n"
                             "wide cell  x       last\n"
                             "y          z       l\n");
}

TEST_CASE("an empty cell is visible, so that columns can be counted") {
    Table table({"A", "B"});
    table.add_row({"", ""});
    CHECK(table.to_text() == "A  B\n-  -\n");
}

TEST_CASE("a table without rows is its header") {
    CHECK(Table({"A", "B"}).to_text() == "A  B\n");
}
