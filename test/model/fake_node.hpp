// What the product keeps on a node, in memory: its files, its locks, and its clock. Behind the headers of the real
// ones.
#pragma once

#include "model/rules.hpp"

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
    std::map<std::string, int> locks; // descriptors, by path and slot
    std::int64_t now = 1000;          // seconds since boot
    Rule without = Rule::none;
    /// Called before a file is changed, and while a lock is taken.
    std::function<void()> wait;
};
extern Files files;

} // namespace rdmanet::model
