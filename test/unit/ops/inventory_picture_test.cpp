#include "inventory_case.hpp"

#include <rdmanet/ops/inventory_report.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::ops {
namespace {

using Catch::Contains;

struct Shape {
    std::string style;
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;

    [[nodiscard]] bool overlaps(const Shape& other) const {
        return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height;
    }
    [[nodiscard]] bool contains(const Shape& other) const {
        return x <= other.x && other.x + other.width <= x + width && y <= other.y &&
               other.y + other.height <= y + height;
    }
};

std::vector<Shape> boxes_of(const std::string& svg, const std::string& styles) {
    const std::regex box("<rect class=\"(" + styles +
                         ")\" x=\"([0-9]+)\" y=\"([0-9]+)\" width=\"([0-9]+)\" height=\"([0-9]+)\">");
    std::vector<Shape> found;
    for (auto at = std::sregex_iterator(svg.begin(), svg.end(), box); at != std::sregex_iterator(); ++at)
        found.push_back({(*at)[1], std::stoi((*at)[2]), std::stoi((*at)[3]), std::stoi((*at)[4]), std::stoi((*at)[5])});
    return found;
}

Shape paper_of(const std::string& svg) {
    std::smatch size;
    REQUIRE(std::regex_search(svg, size, std::regex("viewBox=\"0 0 ([0-9]+) ([0-9]+)\"")));
    return {"paper", 0, 0, std::stoi(size[1]), std::stoi(size[2])};
}

void require_apart(const std::vector<Shape>& boxes) {
    for (std::size_t one = 0; one < boxes.size(); ++one)
        for (std::size_t other = one + 1; other < boxes.size(); ++other)
            REQUIRE_FALSE(boxes[one].overlaps(boxes[other]));
}

TEST_CASE("the picture of a machine has a cell for each VF, and nothing overlaps") {
    for (const auto& [nics, vfs] : {std::pair{2U, 0U}, {2U, 3U}, {8U, 16U}}) {
        const std::string svg = to_svg(test::machine(nics, vfs));
        const std::vector<Shape> cells = boxes_of(svg, "free|used");
        const std::vector<Shape> bands = boxes_of(svg, "band");
        const std::vector<Shape> cards = boxes_of(svg, "card");
        CHECK(cells.size() == nics * vfs);
        CHECK(bands.size() == nics);     // a host bridge for each
        CHECK(cards.size() == 2 * nics); // a NIC and its GPU
        require_apart(cells);
        require_apart(bands);
        require_apart(cards);
        for (const Shape& band : bands) CHECK(paper_of(svg).contains(band));
        const auto is_in = [](const Shape& inner, const std::vector<Shape>& outer) {
            return std::any_of(outer.begin(), outer.end(), [&](const Shape& each) { return each.contains(inner); });
        };
        for (const Shape& card : cards) CHECK(is_in(card, bands));
        for (const Shape& cell : cells) CHECK(is_in(cell, cards));
    }
}

TEST_CASE("the picture shows pods and the state of ports") {
    const std::string svg = to_svg(test::machine(2, 4));
    CHECK_THAT(svg, Contains(">job-0-worker-2<") && Contains(", in training/job-0-worker-2<"));
    CHECK_THAT(svg, Contains("mlx5_1:1 down (Polling)") && Contains("class=\"bad\"") && Contains("class=\"good\""));
    CHECK_THAT(svg, Contains("NUMA node 1") && Contains("PCIe switch 0000:18:01.0") && Contains("GPU 0000:18:1f.0"));
}

TEST_CASE("the picture shows a pod's child interface in the cell of the device that it shares") {
    inventory::Inventory machine = test::machine(1, 1);
    machine.interfaces.push_back({.net = test::net_device("child1", 1), .parent = "ens0np0", .rdma_device = "mlx5_0"});
    machine.interfaces.push_back({.net = test::net_device("whole1", 0), .rdma_device = "mlx5_0"}); // no child
    CHECK_THAT(to_svg(machine), Contains("child1<") && Contains("child of ens0np0") && !Contains("whole1"));
}

TEST_CASE("what others named cannot break the picture") {
    inventory::Inventory machine = test::machine(1, 1);
    machine.namespaces[1].pod.name = "<script>&\"";
    const std::string svg = to_svg(machine);
    CHECK_THAT(svg, !Contains("<script") && Contains("&lt;script&gt;&amp;&quot;<"));
}

} // namespace
} // namespace rdmanet::ops
