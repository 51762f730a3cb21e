#include <rdmanet/http/pause.hpp>

#include <rdmanet/base/format.hpp>

#include <sys/random.h>
#include <time.h>

#include <cstdint>

namespace rdmanet::http {

using std::chrono::milliseconds;

milliseconds with_jitter(milliseconds longest) {
    return longest - any_part_of(longest / 2);
}

milliseconds any_part_of(milliseconds longest) {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) return longest;
    return milliseconds(random % static_cast<std::uint32_t>(longest.count() + 1));
}

milliseconds not_before(milliseconds shortest) {
    return shortest + any_part_of(shortest / 2);
}

void pause(milliseconds duration) {
    timespec left{.tv_sec = duration.count() / 1000, .tv_nsec = duration.count() % 1000 * 1'000'000};
    while (::nanosleep(&left, &left) != 0) {
    }
}

std::string Stopwatch::text() const {
    const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun_).count();
    return took < 1000 ? fmt::format("{} ms", took) : fmt::format("{}.{} s", took / 1000, took % 1000 / 100);
}

} // namespace rdmanet::http
