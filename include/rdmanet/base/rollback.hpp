// Undo on the way out: what was registered runs in reverse order unless commit() was reached.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::base {

class Rollback {
public:
    /// Called for an undo that failed: (what it was to undo, why). The remaining undos still run.
    using FailureHandler = std::function<void(const std::string&, const char*)>;

    explicit Rollback(FailureHandler on_undo_failure) : on_undo_failure_(std::move(on_undo_failure)) {}
    Rollback(const Rollback&) = delete;
    Rollback& operator=(const Rollback&) = delete;
    ~Rollback();

    /// Register BEFORE the act: `undo` must accept that the act never happened, or happened only in part.
    void on_failure(std::string description, std::function<void()> undo) {
        undos_.emplace_back(std::move(description), std::move(undo));
    }

    void commit() noexcept { undos_.clear(); }

private:
    FailureHandler on_undo_failure_;
    std::vector<std::pair<std::string, std::function<void()>>> undos_;
};

} // namespace rdmanet::base
