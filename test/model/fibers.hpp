// Processes that take turns: one runs until it pauses, and the scheduler says who goes on.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

namespace rdmanet::model {

class Fiber {
public:
    Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Begins a call; the one before has ended.
    void begin(std::function<void()> call);
    [[nodiscard]] bool is_running() const { return is_running_; }
    /// Until its next pause, or its end.
    void go_on();
    /// To whoever has called go_on().
    static void pause();

private:
    static void run();

    std::vector<char> stack_;
    ucontext_t context_{};
    ucontext_t back_{};
    std::function<void()> call_;
    bool is_running_ = false;
};

} // namespace rdmanet::model
