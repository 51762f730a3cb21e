// Everyday runs take a sample of all points, another one each day; RDMANET_FAULT_SAMPLE=all takes every one.
//
//   RDMANET_FAULT_SAMPLE   "1/150" (default): every 150th point; "1/1" or "all": every point
//   RDMANET_FAULT_SEED     which of the 150 samples; default the number of the day, so that 150 days take them all
#pragma once

#include <cstddef>
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

/// 0 up to `end`, those in the sample.
[[nodiscard]] std::vector<std::size_t> sample_below(std::size_t end);

} // namespace rdmanet::test
