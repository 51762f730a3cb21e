// What is tried again, how often and how soon, what goes on although something has failed, and the end of a message.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <string_view>

namespace rdmanet::cluster {

/// Of one address. Each means that another writer was faster, or that an answer was lost.
inline constexpr int kMostTries = 30;

/// Those who lost a race against each other don't meet again at once. The first try waits for nobody, and the second
/// one hardly: as a rule there is just one other.
inline void pause_before(int attempt, const base::Deadline& deadline) {
    constexpr std::chrono::milliseconds kShortest{4};
    if (attempt == 0) return;
    http::pause(std::min(http::with_jitter(kShortest * (1 << std::min(attempt, 6))), deadline.remaining()));
}

/// What fails for one thing does not keep the others, unless the server does not answer: they would wait for it, too.
class FirstFailure {
public:
    template <class Act>
    void attempt(const Act& act) {
        try {
            act();
        } catch (const base::Error& error) {
            const auto* const of_store = dynamic_cast<const ipam::StoreError*>(&error);
            if (of_store != nullptr && of_store->unreachable()) throw;
            if (!first_) first_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::exception_ptr first_;
};

/// `trouble`: of the latest write whose outcome is not known, or empty. It names the server, too.
[[nodiscard]] inline std::string what_is_known(std::string_view trouble) {
    return trouble.empty() ? std::string() : fmt::format(": {}", trouble);
}

/// ", at https://host:6443, after 1.5 s: TROUBLE"
[[nodiscard]] inline std::string tried_at(std::string_view server, const http::Stopwatch& watch,
                                          std::string_view trouble = {}) {
    return fmt::format("{}{}, after {}{}", server.empty() ? "" : ", at ", server, watch.text(), what_is_known(trouble));
}

} // namespace rdmanet::cluster
