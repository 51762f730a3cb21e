// Everyday runs take a sample of all points, which changes with each commit.
//
//   RDMANET_FAULT_SAMPLE   "1/250" (default): every 250th point
//                          "1/1" or "all": every point
//                          "calls": every system call with one of its errors or one way to recover, in turn
//   RDMANET_SEED           which of the 250 samples; default 0; test/run.sh derives it from the commit (test/seed)
//   RDMANET_FAULT_COMMAND  "ADD", "DEL", "CHECK" or "GC": only the points of that command
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmanet::test {

[[nodiscard]] bool is_in_sample(std::size_t point);

template <class Point>
std::vector<Point> sample_of(const std::vector<Point>& points) {
    std::vector<Point> sample;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (is_in_sample(i)) sample.push_back(points[i]);
    return sample;
}

/// Which of the `count` points of a system call is taken. nullopt unless one point of each call is wanted.
[[nodiscard]] std::optional<std::size_t> turn_of(std::size_t call, std::size_t count);

/// `is_same_call` tells whether two adjacent `points` are faults at the same system call.
template <class Point, class IsSameCall>
std::vector<Point> sample_of(const std::vector<Point>& points, IsSameCall is_same_call) {
    std::vector<Point> sample;
    std::size_t calls = 0;
    for (auto first = points.begin(); first != points.end(); ++calls) {
        const auto end = std::find_if_not(first, points.end(), [&](const Point& p) { return is_same_call(*first, p); });
        const auto turn = turn_of(calls, static_cast<std::size_t>(end - first));
        if (!turn) return sample_of(points);
        sample.push_back(first[static_cast<std::ptrdiff_t>(*turn)]);
        first = end;
    }
    return sample;
}

/// For points that take long: each run takes only one of them, unless all are wanted.
[[nodiscard]] bool is_turn(std::size_t point, std::size_t count);

/// Whether the points of "ADD", "DEL", "CHECK" or "GC" are wanted.
[[nodiscard]] bool is_wanted(std::string_view command);

} // namespace rdmanet::test
