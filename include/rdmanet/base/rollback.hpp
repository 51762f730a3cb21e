// Undo on the way out: registered undos run in reverse order, unless commit() was reached.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::base {

class Rollback {
public:
    /// Called when an undo fails, with what it was to undo and why it failed. The remaining undos still run.
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

/// Runs `act`. If anything is thrown, `undo` runs and the exception continues. If `undo` throws as well,
/// `on_undo_failure(why)` is called. Allocates no memory itself, so that running out of memory is undone, too.
template <class Act, class Undo, class FailureHandler>
void act_or_undo(Act&& act, Undo&& undo, FailureHandler&& on_undo_failure) {
    try {
        std::forward<Act>(act)();
    } catch (...) {
        try {
            std::forward<Undo>(undo)();
        } catch (const std::exception& error) {
            std::forward<FailureHandler>(on_undo_failure)(error.what());
        }
        throw;
    }
}

} // namespace rdmanet::base
