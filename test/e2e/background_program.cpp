#include "background_program.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"

#include <atomic>
#include <chrono>

namespace rdmanet::test {
namespace {

/// A connection over the slow NIC takes seconds, and a machine may have ten times too much to do.
constexpr std::chrono::seconds kLongest{900};

std::string fresh_name() {
    static std::atomic<int> number{0};
    return concat("/tmp/program", ++number);
}

ProcessResult run_at(std::vector<std::string> place, const std::string& command) {
    place.insert(place.end(), {"/bin/bash", "-c", concat("exec 2>&1; ", command)});
    return run_process(place, {.timeout = kLongest});
}

} // namespace

ProcessResult run_in_pod(const std::string& pod, const std::string& command) {
    return run_at({"ip", "netns", "exec", pod}, command);
}

BackgroundProgram::BackgroundProgram(const std::string& command)
    : BackgroundProgram(std::vector<std::string>{}, command) {}

BackgroundProgram::BackgroundProgram(const std::vector<std::string>& place, const std::string& command)
    : pid_file_(fresh_name()), running_(std::async(std::launch::async, [=, file = pid_file_] {
          // A test may run where SIGINT is ignored: in the background of a shell without job control.
          return run_at(place, concat("echo $$ >", file, "; exec env --default-signal=INT ", command));
      })) {}

BackgroundProgram::~BackgroundProgram() {
    end();
}

bool BackgroundProgram::has_ended() const {
    return !running_.valid() || running_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

ProcessResult BackgroundProgram::result() {
    return running_.get();
}

void BackgroundProgram::send(const std::string& signal) const {
    shell(concat("kill -s ", signal, " $(<", pid_file_, ')'));
}

void BackgroundProgram::end() const {
    (void)comes_true([&] { return has_ended() || succeeds(concat("kill -9 $(<", pid_file_, ')')); });
}

void BackgroundProgram::wait_until_called(const std::string& name) const {
    wait_until(concat("grep -qx ", name, " /proc/$(<", pid_file_, ")/comm"));
}

void BackgroundProgram::wait_for_state(char state) const {
    wait_until(concat("grep -q '^State:.", state, "' /proc/$(<", pid_file_, ")/status"));
}

} // namespace rdmanet::test
