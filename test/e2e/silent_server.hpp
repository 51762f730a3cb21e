// A server that takes connections, and never answers.
#pragma once

#include "support/loopback.hpp"

#include <poll.h>

#include <string>

namespace rdmanet::test {

/// Takes connections, and never says a word.
class SilentServer {
public:
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()); }
    /// As many as there were since the last time.
    [[nodiscard]] int connections() const {
        int count = 0;
        for (pollfd waiting{listener_.get(), POLLIN, 0}; ::poll(&waiting, 1, 0) > 0; ++count) (void)listener_.accept();
        return count;
    }

private:
    Listener listener_;
};

} // namespace rdmanet::test
