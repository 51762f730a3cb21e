// Everyday runs take a sample of all points, another one for each commit; RDMANET_FAULT_SAMPLE=all takes every one.
//
//   RDMANET_FAULT_SAMPLE   "1/250" (default): every 250th point; "1/1" or "all": every point; "calls": every system
//                          call, with one of its errors or one way to recover, by turns
//   RDMANET_SEED           which of the 250 samples; test/run.sh takes it from the commit (test/seed); default 0
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

/// Which of the `count` points of a system call is its turn; nullopt unless each call is taken once.
[[nodiscard]] std::optional<std::size_t> turn_of(std::size_t call, std::size_t count);

/// `is_same_call`: whether two neighbours in `points` are faults at one system call.
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

/// Of points that take long one, by turns; each one where every point is played.
[[nodiscard]] bool is_turn(std::size_t point, std::size_t count);

/// Whether the points of "ADD", "DEL", "CHECK" or "GC" are wanted.
[[nodiscard]] bool is_wanted(std::string_view command);

/// 0 up to `end`, those in the sample.
[[nodiscard]] std::vector<std::size_t> sample_below(std::size_t end);

} // namespace rdmanet::test
