#include "support/patience.hpp"

#include "support/process.hpp"

#include <rdmanet/base/deadline.hpp>

#include <algorithm>
#include <thread>

namespace rdmanet::test {

namespace {

constexpr std::chrono::milliseconds kLongestPause{200};

} // namespace

bool comes_true(const std::function<bool()>& condition) {
    const auto deadline = base::Deadline::in(kPatience);
    // Longer and longer, because a look may start processes, for which the guest and what is waited for share a processor.
    for (std::chrono::milliseconds pause{10}; !condition(); pause = std::min(pause * 3 / 2, kLongestPause)) {
        if (deadline.passed()) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

void wait_until(const std::string& command) {
    if (!comes_true([&] { return succeeds(command); })) (void)shell(command);
}

} // namespace rdmanet::test
