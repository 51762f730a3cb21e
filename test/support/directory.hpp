// A directory of files that lives as long as a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rdmanet::test {

/// Lies in TMPDIR, or where it is said.
class Directory {
public:
    explicit Directory(const std::filesystem::path& in = std::filesystem::temp_directory_path())
        : path_(in / "rdmanet-test-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

    void make(const std::string& directory) const { std::filesystem::create_directories(file(directory)); }
    void remove(const std::string& name) const { std::filesystem::remove_all(file(name)); }
    /// Writes a file, in a directory that it makes, and returns its path.
    std::string write(const std::string& name, std::string_view text) const {
        const std::filesystem::path path = file(name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path;
    }
    void link(const std::string& name, const std::string& target) const {
        const std::filesystem::path path = file(name);
        std::filesystem::create_directories(path.parent_path());
        std::filesystem::create_symlink(target, path);
    }

private:
    std::string path_;
};

} // namespace rdmanet::test
