// Processes that take turns: one runs until it pauses, and the scheduler says who goes on.
#pragma once

#include <rdmanet/base/error.hpp>

#include <ucontext.h>

#include <functional>
#include <memory>

namespace rdmanet::model {

/// Thrown where a process is killed. It only unwinds the stack: a process that is dead changes nothing any more.
class Killed : public base::Error {
public:
    Killed() : Error("killed") {}
};

class Process {
public:
    Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// The process before has ended.
    void begin(std::function<void()> call);
    [[nodiscard]] bool is_running() const { return is_running_; }
    [[nodiscard]] bool is_dead() const { return is_dead_; }
    /// Until its next pause, or its end.
    void go_on();
    /// It ends where it has paused.
    void kill();

    /// The one that runs.
    static Process& current();
    /// To whoever has called go_on(). Throws Killed.
    static void pause();
    /// The one that runs has been killed. Throws Killed.
    [[noreturn]] static void die();

private:
    static void run();
    void exchange_exceptions();

    std::unique_ptr<char[]> stack_;
    ucontext_t context_{};
    ucontext_t back_{};
    std::function<void()> call_;
    bool is_running_ = false;
    bool is_dead_ = false;
    struct { // __cxa_eh_globals: a process may pause in a handler
        void* caught = nullptr;
        unsigned uncaught = 0;
    } exceptions_;
};

} // namespace rdmanet::model
