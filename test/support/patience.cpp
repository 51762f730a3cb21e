#include "support/patience.hpp"

#include <rdmanet/base/deadline.hpp>

#include <thread>

namespace rdmanet::test {

bool comes_true(const std::function<bool()>& condition) {
    const auto deadline = base::Deadline::in(kPatience);
    while (!condition()) {
        if (deadline.passed()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return true;
}

} // namespace rdmanet::test
