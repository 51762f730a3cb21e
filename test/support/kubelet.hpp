// The kubelet's PodResources socket, served by kubelet.py for as long as this lives.
#pragma once

#include "support/source_path.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace rdmanet::test {

class Kubelet {
public:
    /// Listens when it returns. `state` is what kubelet.py reads; its file is beside the socket.
    Kubelet(const std::string& socket, const std::string& state) : file_(socket + ".json") {
        namespace fs = std::filesystem;
        fs::create_directories(fs::path(socket).parent_path());
        set(state);
        std::array<int, 2> input{};
        std::array<int, 2> output{};
        REQUIRE(::pipe2(input.data(), O_CLOEXEC) == 0);
        REQUIRE(::pipe2(output.data(), O_CLOEXEC) == 0);
        const std::string program = source_path("test/support/kubelet.py");
        pid_ = ::fork();
        if (pid_ == 0) {
            (void)::dup2(input[0], STDIN_FILENO);
            (void)::dup2(output[1], STDOUT_FILENO);
            ::execl("/usr/bin/python3", "python3", program.c_str(), socket.c_str(), file_.c_str(), nullptr);
            ::_exit(127);
        }
        (void)::close(input[0]);
        (void)::close(output[1]);
        input_ = input[1];
        char said = 0;
        const bool listens = ::read(output[0], &said, 1) == 1;
        (void)::close(output[0]);
        if (!listens) end();
        REQUIRE(listens); // otherwise python3-grpcio is not installed
    }
    Kubelet(const Kubelet&) = delete;
    Kubelet& operator=(const Kubelet&) = delete;
    ~Kubelet() { end(); }

    void set(const std::string& state) const { std::ofstream(file_) << state; }

private:
    /// It ends with its standard input.
    void end() {
        (void)::close(std::exchange(input_, -1));
        if (pid_ > 0) (void)::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }

    std::string file_;
    pid_t pid_ = -1;
    int input_ = -1;
};

} // namespace rdmanet::test
