// What the product keeps on a node, in memory: its files, its locks, and its clock. Behind the headers of the real ones.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace rdmanet::model {

struct File {
    std::string text;
    std::uint64_t inode = 0;
};

struct Files {
    std::map<std::string, File> by_path;
    std::uint64_t next_inode = 1;
};
extern Files files;

/// Called while a lock is taken by another process.
extern std::function<void()> wait_for_lock;

} // namespace rdmanet::model
