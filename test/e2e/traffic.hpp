// Pods that come and go while a server does.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {

/// Calls of pods while the server comes and goes. Each thread attaches and detaches a container of its own.
class Traffic {
public:
    explicit Traffic(const PluginCall& call) : Traffic([&](int /*thread*/) { return call; }) {}
    /// `call_of` a thread, by its number. Another Traffic at the same time has other numbers.
    explicit Traffic(const std::function<PluginCall(int)>& call_of, int first = 0) {
        for (int at = first; at < first + kThreads; ++at) {
            PluginCall call = call_of(at);
            call.container = concat("traffic", at);
            call.ifname = concat("net", at + 1);
            threads_.emplace_back([this, call] { run(call); });
        }
    }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    ~Traffic() { end(); }

    /// Waits until so many more calls, of those that `counter` counts, have ended.
    void wait_for(const std::atomic<int>& counter, int more) {
        const int wanted = counter + more;
        if (!comes_true([&] { return counter >= wanted || !complaint().empty(); })) complain("nothing goes on");
    }
    void end() {
        ends_ = true;
        for (std::thread& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    /// What must never happen; empty if it did not.
    [[nodiscard]] std::string complaint() const {
        const std::lock_guard lock(mutex_);
        return complaint_;
    }

    static constexpr int kThreads = 4;

    std::atomic<int> added{0};
    std::atomic<int> refused{0};

private:
    void complain(const std::string& text) {
        const std::lock_guard lock(mutex_);
        complaint_ += text + '\n';
    }
    void run(const PluginCall& call) {
        while (!ends_) {
            const ProcessResult result = call.run();
            std::string given;
            if (result.exit_status == 0) {
                given = addresses(result.out);
                const std::lock_guard lock(mutex_);
                if (!held_.insert(given).second) complaint_ += given + " was given twice\n";
                ++added;
            } else {
                ++refused;
                // An API server that starts knows no roles yet, and answers 403.
                const std::string error = error_of(result);
                if (error.find("code 11") != 0 && error.find("HTTP 403") == std::string::npos) complain(error);
            }
            {
                const std::lock_guard lock(mutex_);
                held_.erase(given);
            }
            if (const ProcessResult removed = call.with_command("DEL").run(); removed.exit_status != 0)
                complain("DEL: " + removed.out);
        }
    }

    mutable std::mutex mutex_;
    std::set<std::string> held_;
    std::string complaint_;
    std::atomic<bool> ends_{false};
    std::vector<std::thread> threads_;
};

} // namespace rdmanet::test
