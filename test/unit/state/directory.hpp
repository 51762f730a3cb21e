#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace rdmanet::state {

/// The path of a state directory. It is deleted with its surroundings at the end of the test.
class Directory {
public:
    Directory() {
        char name[] = "/tmp/rdmanet-state-XXXXXX";
        if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
        above_ = name;
        path_ = above_ + "/state";
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() { std::filesystem::remove_all(above_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string above_;
    std::string path_;
};

} // namespace rdmanet::state
