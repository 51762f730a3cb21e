// A program that runs beside the test.
#pragma once

#include "support/process.hpp"

#include <future>
#include <string>
#include <vector>

namespace rdmanet::test {

/// It is killed if it still runs at the end.
class BackgroundProgram {
public:
    /// `command` is a shell command that becomes the program. SIGINT has its usual effect on it.
    explicit BackgroundProgram(const std::string& command);
    BackgroundProgram(const BackgroundProgram&) = delete;
    BackgroundProgram& operator=(const BackgroundProgram&) = delete;
    ~BackgroundProgram();

    [[nodiscard]] bool has_ended() const;
    /// Waits for the program's end. Both outputs are in `out`, as far as the command does not redirect them.
    [[nodiscard]] ProcessResult result();
    void send(const std::string& signal) const;
    /// Kills it if it still runs, and waits for its end.
    void end() const;
    /// Waits until the process runs the program of that name (proc(5), "comm").
    void wait_until_called(const std::string& name) const;
    /// 'S': it sleeps, 'T': it is stopped (proc(5)).
    void wait_for_state(char state) const;

protected:
    /// `place`: a program with arguments that becomes the shell, as "ip netns exec POD" does.
    BackgroundProgram(const std::vector<std::string>& place, const std::string& command);

private:
    std::string pid_file_;
    std::future<ProcessResult> running_;
};

class PodProgram : public BackgroundProgram {
public:
    PodProgram(const std::string& pod, const std::string& command)
        : BackgroundProgram({"ip", "netns", "exec", pod}, command) {}
};

/// Runs a program to its end, with both outputs in `out`.
[[nodiscard]] ProcessResult run_in_pod(const std::string& pod, const std::string& command);

} // namespace rdmanet::test
