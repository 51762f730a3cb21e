#include "support/patience.hpp"

#include "support/process.hpp"

#include <rdmanet/base/wait.hpp>

namespace rdmanet::test {

bool comes_true(const std::function<bool()>& condition) {
    // A look may start processes, for which the guest and what is waited for share a processor.
    constexpr base::Pauses kPauses{.first = std::chrono::milliseconds(10), .longest = std::chrono::milliseconds(200)};
    return base::wait_for(base::Deadline::in(kPatience), condition, kPauses);
}

void wait_until(const std::string& command) {
    if (!comes_true([&] { return succeeds(command); })) (void)shell(command);
}

} // namespace rdmanet::test
