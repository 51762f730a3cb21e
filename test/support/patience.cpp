#include "support/patience.hpp"

#include "support/process.hpp"

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

void wait_until(const std::string& command) {
    if (!comes_true([&] { return succeeds(command); })) (void)shell(command);
}

} // namespace rdmanet::test
