// A directory of files, for as long as it lives.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace rdmanet::kube::test {

class Files {
public:
    Files() {
        std::string name = "/tmp/kube-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        directory_ = name;
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    ~Files() {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(directory_ + "/" + name) << content;
        return directory_ + "/" + name;
    }
    [[nodiscard]] const std::string& directory() const { return directory_; }

private:
    std::string directory_;
};

} // namespace rdmanet::kube::test
